// Tracks whether the session has expired or was revoked. The current page stays as it is then, with
// all unsaved text, and a sign-in dialog opens on top of it.

import { useSyncExternalStore } from "react";

let isExpired = false;
const listeners = new Set<() => void>();

export function setSessionExpired(expired: boolean): void {
  if (expired === isExpired) return;
  isExpired = expired;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useSessionExpired = () => useSyncExternalStore(subscribe, () => isExpired);
