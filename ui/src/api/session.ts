// Whether the server has stopped to know the person at the page: the session ran out or was ended elsewhere. What is shown
// stays as it is then, with everything that was typed, and the way in is offered over it.

import { useSyncExternalStore } from "react";

let isLost = false;
const listeners = new Set<() => void>();

export function noteSession(lost: boolean): void {
  if (lost === isLost) return;
  isLost = lost;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useSessionLost = () => useSyncExternalStore(subscribe, () => isLost);
