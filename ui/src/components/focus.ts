/** For `ref`: takes the focus as soon as the element is there. */
export function focusAtFirst(element: HTMLElement | null): void {
  element?.focus();
}
