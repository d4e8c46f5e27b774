// Keyboard shortcuts that work anywhere on a page, except in text fields, menus and dialogs. A
// space in a name separates two keys pressed one after the other.

import { useEffect, useRef } from "react";

const SECOND_KEY_MS = 1200;

/** Input types that take no text. */
const NON_TEXT_INPUTS = [
  "checkbox",
  "radio",
  "button",
  "submit",
  "reset",
  "range",
  "color",
  "file",
];

export function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement && NON_TEXT_INPUTS.includes(target.type)) return false;
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))
  );
}

/** Shortcuts that work in a field the user has not touched yet. */
const WORK_IN_UNTOUCHED_FIELD = ["?", "/"];

/** Fields that the page focused on load carry `data-untouched` until the user touches them. */
function isInUntouchedField(event: KeyboardEvent): boolean {
  const { target } = event;
  return (
    target instanceof HTMLElement &&
    "untouched" in target.dataset &&
    WORK_IN_UNTOUCHED_FIELD.includes(event.key)
  );
}

/** Whether a key press belongs to a text field, menu or dialog. */
export function isHandledElsewhere(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || document.querySelector("[role=dialog], [role=menu]") !== null)
    return true;
  return isTyping(event.target) && !isInUntouchedField(event);
}

const STORAGE_KEY = "docent.single-keys";

function isStoredAsOff(): boolean {
  try {
    return localStorage.getItem(STORAGE_KEY) === "off";
  } catch {
    return false;
  }
}

let isEnabled = !isStoredAsOff();

/** Whether single-key shortcuts work. Users of speech input, or those who press keys by accident,
 *  can turn them off. The choice is stored in the browser. */
export const areSingleKeyShortcutsEnabled = () => isEnabled;

export function setSingleKeyShortcuts(enabled: boolean): void {
  isEnabled = enabled;
  try {
    if (enabled) localStorage.removeItem(STORAGE_KEY);
    else localStorage.setItem(STORAGE_KEY, "off");
  } catch {
    // Storage is blocked: the choice lasts until the page is closed.
  }
}

/** Whether a key press without modifiers is meant as a shortcut. */
export function isShortcutKey(event: KeyboardEvent): boolean {
  return (
    !event.ctrlKey &&
    !event.metaKey &&
    !event.altKey &&
    !isHandledElsewhere(event) &&
    areSingleKeyShortcutsEnabled()
  );
}

export function useShortcuts(actions: Readonly<Record<string, () => void>>): void {
  const current = useRef(actions);
  current.current = actions;
  useEffect(() => {
    let first = "";
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onKeyDown = (event: KeyboardEvent) => {
      if (!isShortcutKey(event)) return;
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
    window.addEventListener("keydown", onKeyDown);
    return () => {
      clearTimeout(timer);
      window.removeEventListener("keydown", onKeyDown);
    };
  }, []);
}
