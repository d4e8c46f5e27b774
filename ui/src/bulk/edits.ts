// The changes of many entities as a list of edits, each of one part of one entity with its value
// before and after. A bulk action, an imported file, the column grid and their undo all make such
// lists; `apply.ts` writes them.

import type { Permission } from "./entity_state.ts";
import { canonical, difference, isSetFacet, ownerOf, union, type Values } from "./values.ts";

interface Subject {
  readonly urn: string;
  /** The name of the entity, for the report. */
  readonly name: string;
}

export type ValueEdit = {
  [Name in keyof Values]: Subject & {
    readonly facet: Name;
    readonly before: Values[Name];
    readonly after: Values[Name];
    readonly permission: Permission;
  };
}[keyof Values];

/** The description of a column. */
export interface ColumnEdit extends Subject {
  readonly facet: "column";
  readonly path: string;
  readonly before: string;
  readonly after: string;
  readonly permission: Permission;
}

export type Edit = ValueEdit | ColumnEdit;

/** Texts are written one by one, because each names the text that it replaces. */
export type TextEdit = Extract<Edit, { readonly facet: "description" | "column" }>;

export const isTextEdit = (edit: Edit): edit is TextEdit =>
  edit.facet === "description" || edit.facet === "column";

export type SetEdit = Extract<Edit, { readonly facet: "tags" | "terms" | "owners" }>;

export const isSetEdit = (edit: Edit): edit is SetEdit =>
  edit.facet !== "column" && isSetFacet(edit.facet);

/** What identifies the edited part. */
export const partOf = (edit: Edit): string =>
  `${edit.urn} ${edit.facet} ${edit.facet === "column" ? edit.path : ""}`;

export const hasEffect = (edit: Edit) => canonical(edit.before) !== canonical(edit.after);

/** The steps of an edit: each is one mutation, so that a failure never leaves half a step. What is
 *  added comes first, so that nothing is lost if a later step fails. */
export function stepsOf(edit: Edit): readonly Edit[] {
  if (!isSetEdit(edit)) return [edit];
  const added = difference(edit.after, edit.before);
  const all = union(edit.before, added);
  const steps: Edit[] = added.length === 0 ? [] : [{ ...edit, after: all }];
  let before = all;
  for (const removed of removals(edit)) {
    const after = difference(before, removed);
    steps.push({ ...edit, before, after });
    before = after;
  }
  return steps;
}

/** The removed elements by mutation: one removes the owners of a single ownership type. */
function removals(edit: SetEdit): readonly (readonly string[])[] {
  const removed = difference(edit.before, edit.after);
  if (removed.length === 0) return [];
  if (edit.facet !== "owners") return [removed];
  const byType = new Map<string, string[]>();
  for (const key of removed) {
    const { type } = ownerOf(key);
    byType.set(type, [...(byType.get(type) ?? []), key]);
  }
  return [...byType.values()];
}

/** Steps with the same key are one mutation. */
export function mutationKey(edit: Edit): string {
  const change = isSetEdit(edit)
    ? [difference(edit.after, edit.before), difference(edit.before, edit.after)]
    : edit.after;
  return JSON.stringify([edit.facet, edit.permission, change]);
}

/** The edits that restore what the steps have changed, in one edit for each part. */
export function inverse(steps: readonly Edit[]): readonly Edit[] {
  const byPart = new Map<string, Edit>();
  for (const step of steps) {
    const later = byPart.get(partOf(step));
    // Same part, so the same type of value.
    byPart.set(partOf(step), {
      ...step,
      before: step.after,
      after: later === undefined ? step.before : later.after,
    } as Edit);
  }
  return [...byPart.values()].filter(hasEffect);
}
