// The selected entities. One selection for the whole page, so that it survives paging, another
// search and going back; it ends with the session of the user.

import { useSyncExternalStore } from "react";

import { useMe } from "../api/cache.ts";
import { nameOf, type Nameable } from "../names.ts";

export interface Selected {
  readonly urn: string;
  readonly type: string;
  readonly name: string;
}

/** The most entities that a scroll of the API returns, and a limit on what a change has to read. */
export const MAX_SELECTED = 10_000;

/** Types with nothing that could be changed for many at once. */
const NOT_SELECTABLE = ["CORP_USER", "CORP_GROUP", "DATA_PLATFORM"];

export const isSelectable = (entity: { readonly type: string }) =>
  !NOT_SELECTABLE.includes(entity.type);

export const selectedOf = (
  entity: Nameable & { readonly urn: string; readonly type: string },
): Selected => ({ urn: entity.urn, type: entity.type, name: nameOf(entity) });

type Selection = ReadonlyMap<string, Selected>;

const EMPTY: Selection = new Map();
let selection: Selection = EMPTY;
/** Who has selected them. */
let selector: string | undefined;
const listeners = new Set<() => void>();

function replace(next: Selection): void {
  selection = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The selection of the current user, and what changes it. */
export function useSelection() {
  const user = useMe().data?.me?.corpUser.urn;
  const all = useSyncExternalStore(subscribe, () => selection);
  const selected = selector === user ? all : EMPTY;
  return {
    selected,
    /** Adds or removes entities. Those beyond the limit stay out. */
    select: (entities: readonly Selected[], isOn: boolean): void => {
      const next = new Map(selected);
      for (const entity of entities) {
        if (!isOn) next.delete(entity.urn);
        else if (next.size < MAX_SELECTED || next.has(entity.urn)) next.set(entity.urn, entity);
      }
      selector = user;
      replace(next);
    },
    clear: () => replace(EMPTY),
  };
}
