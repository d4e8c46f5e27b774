// Tracks whether the last change of the user became a proposal, which somebody else must accept.
// The pages show what is stored, so without a notice the change would seem to be lost.

import { useSyncExternalStore } from "react";

let isProposed = false;
const listeners = new Set<() => void>();

export function setProposed(proposed: boolean): void {
  if (proposed === isProposed) return;
  isProposed = proposed;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useProposed = () => useSyncExternalStore(subscribe, () => isProposed);
