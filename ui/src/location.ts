// Where one is. A browser goes back and forward without asking, so the page does not simply follow the window's address: it
// follows when nothing that was typed is lost by it, and otherwise brings the window back to where it was. The router gets
// its location from here (`useAddress`); nothing else has to read the window's.

import { useSyncExternalStore } from "react";
import type { BaseLocationHook, NavigateOptions } from "wouter";

import { STAYS } from "./addresses.ts";
import { focusLinkTo } from "./components/focus.ts";
import { leave } from "./components/unsaved.ts";

/** What an entry of the window's history remembers: how many came before it, to find the way back by. */
interface Place {
  readonly position: number;
  /** Whether it shows another part of the page that the entry before it shows. */
  readonly stays: boolean;
}

function placeOf(state: unknown): Place | null {
  const isPlace = typeof state === "object" && state !== null && "position" in state && "stays" in state;
  return isPlace ? (state as Place) : null;
}

/** The place of the window. An entry that the page did not make (a link to a part of a page) gets one. */
function windowPlace(otherwise: Place): Place {
  const known = placeOf(window.history.state);
  if (known !== null) return known;
  window.history.replaceState(otherwise, "");
  return otherwise;
}

const shown = {
  path: window.location.pathname,
  search: window.location.search,
  place: windowPlace({ position: 0, stays: false }),
};
const listeners = new Set<() => void>();

/** Shows what the window's address says. */
function arrive(): void {
  shown.path = window.location.pathname;
  shown.search = window.location.search;
  shown.place = windowPlace({ position: shown.place.position + 1, stays: true });
  for (const listener of listeners) listener();
}

/** Shows a page again that one has left for the one that is shown. */
function comeBack(): void {
  const left = `${shown.path}${shown.search}`;
  arrive();
  focusLinkTo(left);
}

/** Brings the window back to what is shown. */
function stay(): void {
  const steps = shown.place.position - windowPlace(shown.place).position;
  if (steps !== 0) window.history.go(steps);
}

window.addEventListener("popstate", () => {
  const { position } = shown.place;
  const place = windowPlace({ position: position + 1, stays: true });
  // The way back that `stay` has taken.
  if (place.position === position) return;
  const isSamePage =
    (place.position === position + 1 && place.stays) || (place.position === position - 1 && shown.place.stays);
  if (isSamePage) arrive();
  else leave(place.position < position ? comeBack : arrive, stay);
});

function navigate(to: string, options: NavigateOptions = {}): void {
  const { position } = windowPlace(shown.place);
  const stays = options.state === STAYS;
  if (options.replace === true) window.history.replaceState({ position, stays }, "", to);
  else window.history.pushState({ position: position + 1, stays }, "", to);
  arrive();
}

/** Goes to another address, if nothing is lost by it or the person does not mind. */
export function goTo(to: string, go: () => void): void {
  const target = new URL(to, window.location.href);
  if (target.pathname === shown.path && target.search === shown.search) go();
  else leave(go, stay);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The path that is shown, as it stands in the address. */
export const shownPath = () => shown.path;

export const useAddress: BaseLocationHook = () => [useSyncExternalStore(subscribe, shownPath), navigate];
useAddress.searchHook = () => useSyncExternalStore(subscribe, () => shown.search);
