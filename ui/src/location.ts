// The current location. Browsers do not let a page cancel Back and Forward, so the page follows the
// window's address only when that loses no unsaved text; otherwise it moves the window back. The
// router reads its location from here (`useAddress`), and nothing else reads the window's.

import { useSyncExternalStore } from "react";
import type { BaseLocationHook, NavigateOptions } from "wouter";

import { SAME_PAGE } from "./addresses.ts";
import { focusLinkTo } from "./components/focus.ts";
import { leave } from "./components/unsaved.ts";

/** State of an entry in the session history. */
interface HistoryEntry {
  /** Number of entries before this one. */
  readonly position: number;
  /** Whether it shows the same page as the previous entry. */
  readonly isSamePage: boolean;
}

function parseEntry(state: unknown): HistoryEntry | null {
  const isEntry =
    typeof state === "object" && state !== null && "position" in state && "isSamePage" in state;
  return isEntry ? (state as HistoryEntry) : null;
}

/** The window's current entry. Entries that the page did not create, such as fragment links, get
 *  the fallback. */
function windowEntry(fallback: HistoryEntry): HistoryEntry {
  const known = parseEntry(window.history.state);
  if (known !== null) return known;
  window.history.replaceState(fallback, "");
  return fallback;
}

const current = {
  path: window.location.pathname,
  search: window.location.search,
  entry: windowEntry({ position: 0, isSamePage: false }),
};
const listeners = new Set<() => void>();

/** Shows the page at the window's address. */
function followWindow(): void {
  current.path = window.location.pathname;
  current.search = window.location.search;
  current.entry = windowEntry({ position: current.entry.position + 1, isSamePage: true });
  for (const listener of listeners) listener();
}

/** Goes back to a page and focuses the link that led away from it. */
function goBack(): void {
  const left = `${current.path}${current.search}`;
  followWindow();
  focusLinkTo(left);
}

/** Moves the window back to the current page. */
function stay(): void {
  const steps = current.entry.position - windowEntry(current.entry).position;
  if (steps !== 0) window.history.go(steps);
}

window.addEventListener("popstate", () => {
  const { position } = current.entry;
  const entry = windowEntry({ position: position + 1, isSamePage: true });
  // Triggered by `stay` itself.
  if (entry.position === position) return;
  const isSamePage =
    (entry.position === position + 1 && entry.isSamePage) ||
    (entry.position === position - 1 && current.entry.isSamePage);
  if (isSamePage) followWindow();
  else leave(entry.position < position ? goBack : followWindow, stay);
});

function navigate(to: string, options: NavigateOptions = {}): void {
  const { position } = windowEntry(current.entry);
  const isSamePage = options.state === SAME_PAGE;
  if (options.replace === true) window.history.replaceState({ position, isSamePage }, "", to);
  else window.history.pushState({ position: position + 1, isSamePage }, "", to);
  followWindow();
}

/** Navigates to another address, after confirmation if that would discard unsaved text. */
export function confirmNavigation(to: string, go: () => void): void {
  const target = new URL(to, window.location.href);
  if (target.pathname === current.path && target.search === current.search) go();
  else leave(go, stay);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The path of the current page, still encoded. */
export const currentPath = () => current.path;

export const useAddress: BaseLocationHook = () => [
  useSyncExternalStore(subscribe, currentPath),
  navigate,
];
useAddress.searchHook = () => useSyncExternalStore(subscribe, () => current.search);
