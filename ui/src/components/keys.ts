// Keys that work anywhere on a page, except where text is typed. A name with a blank is two keys one after the other.

import { useEffect, useRef } from "react";

const SECOND_KEY_MS = 1200;

export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))
  );
}

export function useKeys(actions: Readonly<Record<string, () => void>>): void {
  const current = useRef(actions);
  current.current = actions;
  useEffect(() => {
    let first = "";
    let timer: ReturnType<typeof setTimeout> | undefined;
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector("[role=dialog]") !== null) return;
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
