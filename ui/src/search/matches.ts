// What of a search result matched: its own description, its columns, or its labels.

import type { SearchQuery } from "../generated/operations.ts";

export type Result = NonNullable<SearchQuery["searchAcrossEntities"]>["searchResults"][number];
export type Match = Result["matchedFields"][number];
type Entity = NonNullable<Match["entity"]>;

/** A column that matched by its name, its description or both. */
export interface ColumnMatch {
  readonly path: string;
  readonly name?: Match;
  readonly description?: Match;
}

const DESCRIPTIONS = ["editedDescription", "description"];
const COLUMN_NAMES = ["fieldPaths", "fieldLabels"];
/** Fields whose values are labels, in the order in which they are shown. */
export const LABELS = [
  "tags",
  "glossaryTerms",
  "owners",
  "domains",
  "fieldTags",
  "fieldGlossaryTerms",
] as const;

export function matchesOf(result: Result): {
  readonly description: Match | undefined;
  readonly columns: readonly ColumnMatch[];
  readonly labels: readonly { readonly field: (typeof LABELS)[number]; readonly label: Entity }[];
} {
  const matches = result.matchedFields;
  const description = DESCRIPTIONS.map((name) => matches.find((match) => match.name === name));
  const labels = LABELS.flatMap((field) =>
    matches.flatMap((match) =>
      match.name === field && match.entity !== null && match.entity !== undefined
        ? [{ field, label: match.entity }]
        : [],
    ),
  );
  return {
    description: description.find((match) => match !== undefined),
    columns: columnsOf(matches),
    labels,
  };
}

/** How much of a name matches, from 0 to 1. */
function matchedShare(match: Match | undefined): number {
  let matched = 0;
  let length = 0;
  for (const piece of match?.pieces ?? []) {
    length += piece.text.length;
    if (piece.matched) matched += piece.text.length;
  }
  return length === 0 ? 0 : matched / length;
}

function columnsOf(matches: readonly Match[]): ColumnMatch[] {
  const columns = new Map<string, ColumnMatch>();
  const add = (path: string, match: Partial<ColumnMatch>) =>
    columns.set(path, { ...match, ...columns.get(path), path });
  for (const match of matches) {
    if (COLUMN_NAMES.includes(match.name) && match.pieces.some((piece) => piece.matched))
      add(match.value, { name: match });
    // Edited descriptions come first, and replace imported ones.
    for (const path of match.columns) add(path, { description: match });
  }
  // Names that match as a whole come first: of col_25 and col_250, the requested one.
  return [...columns.values()].toSorted(
    (left, right) => matchedShare(right.name) - matchedShare(left.name),
  );
}
