// Going back leads to where one was, also when what is shown there has to be fetched again first. The browser restores the
// position as soon as the address changes and so finds a page that is still too short; here it waits for it.

/** One step in the history of the window. Browsers without a name for it keep their own ways. */
const step = () => window.navigation?.currentEntry?.key;

const STORED = "scroll-positions";
/** So many steps back are remembered. */
const MOST_STEPS = 100;
/** Whoever has waited so long has begun to read somewhere. */
const PATIENCE_MS = 5000;
/** What says that somebody moves the page on their own. */
const MOVES = ["wheel", "touchstart", "keydown", "pointerdown"] as const;

export function rememberScrolling(): void {
  if (step() === undefined) return;
  window.history.scrollRestoration = "manual";
  const positions = readPositions();
  /** Ends a restoration that is going on. */
  let stop: (() => void) | null = null;

  const remember = () => {
    const key = step();
    if (stop !== null || key === undefined) return;
    positions.delete(key);
    positions.set(key, window.scrollY);
    for (const oldest of positions.keys()) {
      if (positions.size <= MOST_STEPS) break;
      positions.delete(oldest);
    }
  };
  const restore = () => {
    stop?.();
    stop = null;
    const wanted = positions.get(step() ?? "");
    if (wanted === undefined) return;
    stop = holdAt(wanted, () => {
      stop = null;
      remember();
    });
  };

  window.addEventListener("scroll", remember, { passive: true });
  // Before the address changes: where one stands is not always where one has scrolled to.
  window.navigation.addEventListener("navigate", remember);
  window.addEventListener("popstate", restore);
  window.addEventListener("pagehide", () => {
    remember();
    window.sessionStorage.setItem(STORED, JSON.stringify([...positions]));
  });
  restore();
}

/** Moves the page to a position as soon as it is long enough for it. Returns how to give up. */
function holdAt(wanted: number, onEnd: () => void): () => void {
  const tryIt = () => {
    window.scrollTo(0, wanted);
    if (Math.abs(window.scrollY - wanted) <= 1) end();
  };
  const grown = new ResizeObserver(tryIt);
  const timer = setTimeout(() => end(), PATIENCE_MS);
  const giveUp = () => {
    grown.disconnect();
    clearTimeout(timer);
    for (const move of MOVES) window.removeEventListener(move, end);
  };
  const end = () => {
    giveUp();
    onEnd();
  };
  for (const move of MOVES) window.addEventListener(move, end, { passive: true });
  // It tells of the size at once, when the page of the new address is there.
  grown.observe(document.body);
  return giveUp;
}

function readPositions(): Map<string, number> {
  try {
    return new Map(JSON.parse(window.sessionStorage.getItem(STORED) ?? "[]") as Array<[string, number]>);
  } catch {
    return new Map();
  }
}
