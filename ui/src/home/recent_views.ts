// What the user has viewed last. Kept in this browser only.

import { useEffect } from "react";

import { useMe } from "../api/cache.ts";

const MAX_VIEWS = 8;

const keyOf = (user: string) => `docent.viewed.${user}`;

/** The URNs, the last one first. */
export function recentViews(user: string): readonly string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(keyOf(user)) ?? "[]");
    return Array.isArray(stored) ? stored.filter((urn) => typeof urn === "string") : [];
  } catch {
    return [];
  }
}

function store(user: string, urns: readonly string[]): void {
  try {
    localStorage.setItem(keyOf(user), JSON.stringify(urns));
  } catch {
    // Storage is blocked or full: the list stays as it was.
  }
}

export function forgetViews(user: string): void {
  store(user, []);
}

/** Remembers that the signed-in user has opened the page of an entity. */
export function useRememberView(urn: string): void {
  const user = useMe().data?.me?.corpUser.urn;
  useEffect(() => {
    if (user === undefined) return;
    const others = recentViews(user).filter((other) => other !== urn);
    store(user, [urn, ...others].slice(0, MAX_VIEWS));
  }, [user, urn]);
}
