// Where the keyboard is. Whatever takes it away gives it back to where the person was.

import { useLayoutEffect, useRef, type RefObject } from "react";

/** For `ref`: takes the focus as soon as the element is there. */
export function focusAtFirst(element: HTMLElement | null): void {
  element?.focus();
}

/** Gives the focus to an element, or to the content of the page if there is none. */
export function focusAgain(element: HTMLElement | undefined): void {
  const target = element ?? document.getElementById("content");
  target?.focus({ preventScroll: true });
}

/** What has the focus, or would have it if it had not been switched off: buttons are while their work is done. */
let holder: Element | null = null;
window.addEventListener("focusin", (event) => {
  holder = event.target instanceof Element ? event.target : null;
});
window.addEventListener("focusout", () => {
  if (holder?.matches(":disabled") === false) holder = null;
});

const isLost = () => document.activeElement === null || document.activeElement === document.body;

/** Gives the focus back after something that had it closed, unless it was given to something else meanwhile. */
export function focusBack(element: HTMLElement | undefined): void {
  if (isLost()) focusAgain(element);
}

/** An element with everything around it. */
function chainFrom(element: Element | null): readonly Element[] {
  return element === null ? [] : [element, ...chainFrom(element.parentElement)];
}

/**
 * Keeps the focus in a part of the page when what has it there is taken away: `heir` finds who has it next, beginning at what
 * is left around it. It is to be called by whatever draws the part anew.
 */
export function useFocusKept(
  part: RefObject<HTMLElement | null>,
  heir: (place: Element) => HTMLElement | null | undefined,
): void {
  // While this is drawn all that is to be taken away is still there.
  const chain = part.current?.contains(holder) === true ? chainFrom(holder) : [];
  useLayoutEffect(() => {
    const place = chain.find((element) => element.isConnected);
    if (place === undefined || !isLost()) return;
    // What is only moved to another place, or was switched off for a while, has it again.
    const isStillThere = place === chain[0] && place instanceof HTMLElement;
    focusAgain((isStillThere ? place : heir(place)) ?? undefined);
  });
}

/** Whoever has waited so long has begun to read somewhere. */
const PATIENCE_MS = 5000;

/** Gives the focus to the top of the page that comes next, unless that takes it itself. Not before the last one is gone: a field
 *  that loses the focus would take that for a wish to save. */
export function focusNextPage(): void {
  const before = document.activeElement;
  setTimeout(() => {
    if (isLost() || document.activeElement === before) focusAgain(undefined);
  });
}

/** Whoever comes back to a page finds the focus on the link by which they left it, as soon as that is there. */
export function focusLinkTo(address: string): void {
  const content = document.getElementById("content");
  if (content === null) return;
  const before = document.activeElement;
  focusNextPage();
  const drawn = new MutationObserver(() => {
    const active = document.activeElement;
    const isAround = active === before && !content.contains(before);
    // Whoever has gone somewhere meanwhile is left there.
    if (!isLost() && active !== content && !isAround) return;
    const links = [...content.querySelectorAll<HTMLAnchorElement>("a[href]")];
    links.find((link) => `${link.pathname}${link.search}` === address)?.focus({ preventScroll: true });
  });
  const end = () => {
    clearTimeout(timer);
    drawn.disconnect();
    for (const begun of ["keydown", "pointerdown"]) window.removeEventListener(begun, end);
  };
  const timer = setTimeout(end, PATIENCE_MS);
  for (const begun of ["keydown", "pointerdown"]) window.addEventListener(begun, end);
  drawn.observe(content, { childList: true, subtree: true });
}

const isThere = (element: Element | null): element is HTMLElement =>
  element instanceof HTMLElement && element.isConnected && element !== document.body;

/** What had the focus when the last of the dialogs that are open opened. A dialog that takes the place of another one leads
 *  back to what opened the first. */
let newest: readonly (Element | null)[] = [];

/** What had the focus before something opened and is still there. It is noted while that is being drawn, before it takes the
 *  focus itself. */
export function useFocusBefore(isOpen: boolean): () => HTMLElement | undefined {
  const before = useRef<readonly (Element | null)[]>([]);
  const wasOpen = useRef(false);
  if (isOpen && !wasOpen.current) {
    const active = document.activeElement;
    const isOnPage = isThere(active) && active.closest("[role=dialog]") === null;
    newest = isOnPage ? [active] : [active, ...newest];
    before.current = newest;
  }
  wasOpen.current = isOpen;
  return () => {
    if (newest === before.current) newest = [];
    return before.current.find(isThere);
  };
}
