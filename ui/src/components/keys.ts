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

const CHOICE = "docent.single-keys";

function isKeptOff(): boolean {
  try {
    return localStorage.getItem(CHOICE) === "off";
  } catch {
    return false;
  }
}

let areOn = !isKeptOff();

/** Whether keys of one letter act: whoever speaks to their computer, or hits keys by accident, can turn them off. The choice is
 *  kept in this browser. */
export const areSingleKeysOn = () => areOn;

export function chooseSingleKeys(chosen: boolean): void {
  areOn = chosen;
  try {
    if (chosen) localStorage.removeItem(CHOICE);
    else localStorage.setItem(CHOICE, "off");
  } catch {
    // A browser that keeps nothing still knows it until the page is left.
  }
}

/** Whether a key is one that acts by itself and is meant for the page. */
export function isSingleKey(event: KeyboardEvent): boolean {
  return !event.ctrlKey && !event.metaKey && !event.altKey && !isForSomethingElse(event) && areSingleKeysOn();
}

export function useKeys(actions: Readonly<Record<string, () => void>>): void {
  const current = useRef(actions);
  current.current = actions;
  useEffect(() => {
    let first = "";
    let timer: ReturnType<typeof setTimeout> | undefined;
    const press = (event: KeyboardEvent) => {
      if (!isSingleKey(event)) return;
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
