// What can be done with a selection, and the edits that each action makes of the current states.

import type { Edit } from "./edits.ts";
import { hasEffect } from "./edits.ts";
import type { EntityState } from "./entity_state.ts";
import type { Selected } from "./selection.ts";
import { difference, union, type Deprecation, type Facet, type Values } from "./values.ts";

export const ACTION_FACETS = {
  setDomain: "domain",
  removeDomain: "domain",
  addTags: "tags",
  removeTags: "tags",
  addTerms: "terms",
  removeTerms: "terms",
  addOwners: "owners",
  removeOwners: "owners",
  deprecate: "deprecation",
  undeprecate: "deprecation",
  delete: "removed",
  restore: "removed",
} as const satisfies Record<string, Facet>;

export type ActionKind = keyof typeof ACTION_FACETS;

export const isRemoval = (kind: ActionKind) =>
  kind === "removeTags" || kind === "removeTerms" || kind === "removeOwners";

/** What the user chose; each action uses one of these. */
export interface Choice {
  readonly domain: string | null;
  /** Tags, terms, or owners with their types. */
  readonly elements: readonly string[];
  readonly deprecation: Deprecation;
}

/** Whether there is enough to preview the action. */
export const isComplete = (kind: ActionKind, choice: Choice): boolean =>
  !["tags", "terms", "owners"].includes(ACTION_FACETS[kind]) || choice.elements.length > 0;

export interface Plan {
  readonly edits: readonly Edit[];
  readonly unchanged: readonly string[];
  /** Names of the entities that the user may not change. */
  readonly forbidden: readonly string[];
  /** Names of entities of types without this part. */
  readonly notApplicable: readonly string[];
  readonly missing: readonly string[];
}

export function planOf(
  kind: ActionKind,
  choice: Choice,
  selected: readonly Selected[],
  states: ReadonlyMap<string, EntityState>,
): Plan {
  const plan = {
    edits: [] as Edit[],
    unchanged: [] as string[],
    forbidden: [] as string[],
    notApplicable: [] as string[],
    missing: [] as string[],
  };
  for (const { urn, name } of selected) {
    const state = states.get(urn);
    if (state === undefined) {
      plan.missing.push(name);
      continue;
    }
    const edit = editOf(kind, choice, state);
    if (edit === null) plan.notApplicable.push(name);
    else if (!hasEffect(edit)) plan.unchanged.push(name);
    else if (edit.permission === "none") plan.forbidden.push(name);
    else plan.edits.push(edit);
  }
  return plan;
}

/** The edit of one entity, or `null` if its type lacks the part. */
function editOf(kind: ActionKind, choice: Choice, state: EntityState): Edit | null {
  const facet = ACTION_FACETS[kind];
  const before = state.values[facet];
  if (before === undefined) return null;
  return {
    urn: state.urn,
    name: state.name,
    facet,
    before,
    after: valueAfter(kind, choice, before),
    permission: state.permissions[facet],
  } as Edit;
}

function valueAfter(kind: ActionKind, choice: Choice, before: Values[Facet]): Values[Facet] {
  switch (kind) {
    case "setDomain":
      return choice.domain;
    case "removeDomain":
    case "undeprecate":
      return null;
    case "deprecate":
      return choice.deprecation;
    case "delete":
      return true;
    case "restore":
      return false;
    case "addTags":
    case "addTerms":
    case "addOwners":
      return union(before as readonly string[], choice.elements);
    case "removeTags":
    case "removeTerms":
    case "removeOwners":
      return difference(before as readonly string[], choice.elements);
  }
}
