// Keys that work anywhere on a page, except where text is typed, a menu is open or a dialog asks for something. A name with a
// blank is two keys one after the other.

import { useEffect, useRef } from "react";

const SECOND_KEY_MS = 1200;

/** Fields in which letters mean nothing. */
const NOT_TYPED_INTO = ["checkbox", "radio", "button", "submit", "reset", "range", "color", "file"];

export function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement && NOT_TYPED_INTO.includes(target.type)) return false;
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))
  );
}

/** Keys that somebody who has not begun to type means for the page. */
const MEANT_FOR_THE_PAGE = ["?", "/"];

/** A field that the page itself gave the focus to says so in `data-unused` until somebody uses it. */
function isUnused(event: KeyboardEvent): boolean {
  const { target } = event;
  return target instanceof HTMLElement && "unused" in target.dataset && MEANT_FOR_THE_PAGE.includes(event.key);
}

/** Whether a key is meant for something else than the page as a whole. */
export function isForSomethingElse(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || document.querySelector("[role=dialog], [role=menu]") !== null) return true;
  return isTyping(event.target) && !isUnused(event);
}

export function useKeys(actions: Readonly<Record<string, () => void>>): void {
  const current = useRef(actions);
  current.current = actions;
  useEffect(() => {
    let first = "";
    let timer: ReturnType<typeof setTimeout> | undefined;
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isForSomethingElse(event)) return;
      const action = current.current[`${first} ${event.key}`] ?? current.current[event.key];
      clearTimeout(timer);
      first = event.key;
      timer = setTimeout(() => (first = ""), SECOND_KEY_MS);
      if (action !== undefined) {
        first = "";
        event.preventDefault();
        action();
      }
    };
    window.addEventListener("keydown", press);
    return () => {
      clearTimeout(timer);
      window.removeEventListener("keydown", press);
    };
  }, []);
}
