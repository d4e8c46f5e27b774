// Keyboard focus: returns it when a dialog closes, and finds a new place when the focused element
// disappears.

import { useLayoutEffect, useRef, type RefObject } from "react";

/** A `ref` callback that focuses the element when it is mounted. */
export function focusOnMount(element: HTMLElement | null): void {
  element?.focus();
}

/** Focuses an element, or the main content if there is none. */
export function focusElementOrContent(element: HTMLElement | undefined): void {
  const target = element ?? document.getElementById("content");
  target?.focus({ preventScroll: true });
}

/** The focused element, also while it is disabled, as buttons are during a request. */
let focused: Element | null = null;
window.addEventListener("focusin", (event) => {
  focused = event.target instanceof Element ? event.target : null;
});
window.addEventListener("focusout", () => {
  if (focused?.matches(":disabled") === false) focused = null;
});

const isFocusLost = () =>
  document.activeElement === null || document.activeElement === document.body;

/** Returns the focus to an element, unless something else has taken it meanwhile. */
export function restoreFocus(element: HTMLElement | undefined): void {
  if (isFocusLost()) focusElementOrContent(element);
}

/** An element and its ancestors. */
function selfAndAncestors(element: Element | null): readonly Element[] {
  return element === null ? [] : [element, ...selfAndAncestors(element.parentElement)];
}

/**
 * Keeps the focus inside a container when the focused element is removed: `fallback` returns the
 * next element to focus, given the closest remaining ancestor. Call it from the component that
 * re-renders the container.
 */
export function useFocusFallback(
  container: RefObject<HTMLElement | null>,
  fallback: (ancestor: Element) => HTMLElement | null | undefined,
): void {
  // During rendering, the elements about to be removed are still in the document.
  const path = container.current?.contains(focused) === true ? selfAndAncestors(focused) : [];
  useLayoutEffect(() => {
    const ancestor = path.find((element) => element.isConnected);
    if (ancestor === undefined || !isFocusLost()) return;
    // An element that was only moved or temporarily disabled gets the focus back.
    const isStillThere = ancestor === path[0] && ancestor instanceof HTMLElement;
    focusElementOrContent((isStillThere ? ancestor : fallback(ancestor)) ?? undefined);
  });
}

/** After this time the user has started reading, so moving the focus would disturb them. */
const RESTORE_TIMEOUT_MS = 5000;

/** Focuses the main content of the next page, unless that page focuses something itself. Waits
 *  until the old page is gone, because a text field that loses the focus would save. */
export function focusNewPage(): void {
  const before = document.activeElement;
  setTimeout(() => {
    if (isFocusLost() || document.activeElement === before) focusElementOrContent(undefined);
  });
}

/** After Back, focuses the link that led away from the page, as soon as it is rendered. */
export function focusLinkTo(address: string): void {
  const content = document.getElementById("content");
  if (content === null) return;
  const before = document.activeElement;
  focusNewPage();
  const observer = new MutationObserver(() => {
    const active = document.activeElement;
    const isUnchanged = active === before && !content.contains(before);
    // Leave the focus alone if the user has moved it meanwhile.
    if (!isFocusLost() && active !== content && !isUnchanged) return;
    const links = [...content.querySelectorAll<HTMLAnchorElement>("a[href]")];
    links
      .find((link) => `${link.pathname}${link.search}` === address)
      ?.focus({ preventScroll: true });
  });
  const end = () => {
    clearTimeout(timer);
    observer.disconnect();
    for (const type of ["keydown", "pointerdown"]) window.removeEventListener(type, end);
  };
  const timer = setTimeout(end, RESTORE_TIMEOUT_MS);
  for (const type of ["keydown", "pointerdown"]) window.addEventListener(type, end);
  observer.observe(content, { childList: true, subtree: true });
}

const isInDocument = (element: Element | null): element is HTMLElement =>
  element instanceof HTMLElement && element.isConnected && element !== document.body;

/** The elements that opened the current dialog. A dialog that replaces another one returns the
 *  focus to the opener of the first. */
let openers: readonly (Element | null)[] = [];

/** Returns the element that had the focus before a dialog opened, if it still exists. Records it
 *  during rendering, before the dialog takes the focus. */
export function useOpener(isOpen: boolean): () => HTMLElement | undefined {
  const before = useRef<readonly (Element | null)[]>([]);
  const wasOpen = useRef(false);
  if (isOpen && !wasOpen.current) {
    const active = document.activeElement;
    const isOnPage = isInDocument(active) && active.closest("[role=dialog]") === null;
    openers = isOnPage ? [active] : [active, ...openers];
    before.current = openers;
  }
  wasOpen.current = isOpen;
  return () => {
    if (openers === before.current) openers = [];
    return before.current.find(isInDocument);
  };
}
