// The value of a cell of a file, and the references in it.

import { csvTexts } from "../csv_texts.ts";
import { DEFAULT_OWNERSHIP_TYPE } from "./choices.tsx";
import {
  NONE,
  parseList,
  parseOwner,
  parseReference,
  type EntityField,
  type Reference,
} from "./csv_cells.ts";
import { ReferenceError, type ReferenceKind, type References } from "./csv_references.ts";
import { normalizeText, ownerKey, type Facet, type Values } from "./values.ts";

export function referencesOf(
  field: EntityField,
  cell: string,
): readonly (readonly [ReferenceKind, Reference])[] {
  if (field === "description" || cell === "" || cell === NONE) return [];
  if (field !== "owners")
    return parseList(cell).map((entry) => [field, parseReference(entry)] as const);
  return parseList(cell).flatMap((entry) => {
    const { owner, type } = parseOwner(entry);
    return type === undefined
      ? [["owners", owner] as const]
      : [["owners", owner] as const, ["ownershipType", type] as const];
  });
}

/** The value of a cell that is not empty. Throws a `ReferenceError` if a reference is not valid. */
export function valueOfCell(
  field: EntityField,
  label: string,
  cell: string,
  references: References,
): Values[Facet] {
  if (field === "description") return normalizeText(cell);
  const entries = parseList(cell);
  if (field === "domain") {
    const [entry, ...others] = entries;
    if (entry === undefined || others.length > 0)
      throw new ReferenceError(csvTexts.problems.oneDomain);
    return references.resolve("domain", label, parseReference(entry));
  }
  const keys = entries.map((entry) => {
    if (field !== "owners") return references.resolve(field, label, parseReference(entry));
    const { owner, type } = parseOwner(entry);
    return ownerKey(
      references.resolve("owners", label, owner),
      type === undefined
        ? DEFAULT_OWNERSHIP_TYPE
        : references.resolve("ownershipType", label, type),
    );
  });
  return [...new Set(keys)];
}
