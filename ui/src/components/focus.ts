// Where the keyboard is. Whatever takes it away gives it back to where the person was.

import { useRef } from "react";

/** For `ref`: takes the focus as soon as the element is there. */
export function focusAtFirst(element: HTMLElement | null): void {
  element?.focus();
}

/** Gives the focus to an element, or to the content of the page if there is none. */
export function focusAgain(element: HTMLElement | undefined): void {
  const target = element ?? document.getElementById("content");
  target?.focus({ preventScroll: true });
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
