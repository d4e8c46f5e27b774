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

/** What had the focus when the last dialog opened; more than one if it opened out of another. */
let newest: readonly (Element | null)[] = [];

const isThere = (element: Element | null): element is HTMLElement =>
  element instanceof HTMLElement && element.isConnected && element !== document.body;

/** What had the focus before something opened and is still there. It is noted while that is being drawn, before it takes the
 *  focus itself. */
export function useFocusBefore(isOpen: boolean): () => HTMLElement | undefined {
  const before = useRef<readonly (Element | null)[]>([]);
  const wasOpen = useRef(false);
  if (isOpen && !wasOpen.current) {
    const active = document.activeElement;
    newest = active?.closest("[role=dialog]") ? [active, ...newest] : [active];
    before.current = newest;
  }
  wasOpen.current = isOpen;
  return () => before.current.find(isThere);
}
