// Restores the scroll position on Back, even if the page has to load its data first. The browser's
// own restoration runs as soon as the address changes, when the page is still too short.

/** The key of the current history entry. Browsers without the Navigation API keep their own
 *  restoration. */
const entryKey = () => window.navigation?.currentEntry?.key;

const STORAGE_KEY = "scroll-positions";
const MAX_ENTRIES = 100;
/** After this time the user has started reading, so scrolling would disturb them. */
const RESTORE_TIMEOUT_MS = 5000;
/** Events that mean the user is scrolling. */
const USER_EVENTS = ["wheel", "touchstart", "keydown", "pointerdown"] as const;

export function trackScrollPositions(): void {
  if (entryKey() === undefined) return;
  window.history.scrollRestoration = "manual";
  const positions = readPositions();
  /** Cancels the restoration in progress. */
  let cancel: (() => void) | null = null;

  const remember = () => {
    const key = entryKey();
    if (cancel !== null || key === undefined) return;
    positions.delete(key);
    positions.set(key, window.scrollY);
    for (const oldest of positions.keys()) {
      if (positions.size <= MAX_ENTRIES) break;
      positions.delete(oldest);
    }
  };
  const restore = () => {
    cancel?.();
    cancel = null;
    const position = positions.get(entryKey() ?? "");
    if (position === undefined) return;
    cancel = scrollWhenPossible(position, () => {
      cancel = null;
      remember();
    });
  };

  window.addEventListener("scroll", remember, { passive: true });
  // Before the address changes: the position can change without a scroll event.
  window.navigation.addEventListener("navigate", remember);
  window.addEventListener("popstate", restore);
  window.addEventListener("pagehide", () => {
    remember();
    window.sessionStorage.setItem(STORAGE_KEY, JSON.stringify([...positions]));
  });
  restore();
}

/** Scrolls to a position as soon as the page is tall enough. Returns a function that cancels it. */
function scrollWhenPossible(position: number, onEnd: () => void): () => void {
  const attempt = () => {
    window.scrollTo(0, position);
    if (Math.abs(window.scrollY - position) <= 1) end();
  };
  const observer = new ResizeObserver(attempt);
  const timer = setTimeout(() => end(), RESTORE_TIMEOUT_MS);
  const cancel = () => {
    observer.disconnect();
    clearTimeout(timer);
    for (const type of USER_EVENTS) window.removeEventListener(type, end);
  };
  const end = () => {
    cancel();
    onEnd();
  };
  for (const type of USER_EVENTS) window.addEventListener(type, end, { passive: true });
  // Also fires once right away.
  observer.observe(document.body);
  return cancel;
}

function readPositions(): Map<string, number> {
  try {
    return new Map(
      JSON.parse(window.sessionStorage.getItem(STORAGE_KEY) ?? "[]") as Array<[string, number]>,
    );
  } catch {
    return new Map();
  }
}
