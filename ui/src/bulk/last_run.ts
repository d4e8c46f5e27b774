// The last change of many entities, which can be undone until the next one.

import { useSyncExternalStore } from "react";

import { useMe } from "../api/cache.ts";
import type { Edit } from "./edits.ts";

export interface LastRun {
  /** Who made it. */
  readonly user: string | undefined;
  /** Whether it undid the run before it. */
  readonly isUndo: boolean;
  /** How many edits it made. */
  readonly changed: number;
  readonly undo: readonly Edit[];
}

let lastRun: LastRun | null = null;
const listeners = new Set<() => void>();

export function setLastRun(run: LastRun | null): void {
  lastRun = run;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The last change of the current user. */
export function useLastRun(): LastRun | null {
  const user = useMe().data?.me?.corpUser.urn;
  const last = useSyncExternalStore(subscribe, () => lastRun);
  return last?.user === user ? last : null;
}
