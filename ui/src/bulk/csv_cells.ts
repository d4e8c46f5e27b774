// How values are written in the cells of a file: references as `Name <URN>`, lists separated by
// semicolons, and checks that tell what changed since the export.

import { canonical, ownerOf, type Facet, type Values } from "./values.ts";

/** The most rows of a file, for import and export. */
export const MAX_ROWS = 50_000;

/** Removes a value. An empty cell changes nothing, because it is too easily made. */
export const NONE = "(none)";

/** The values that a file can change, in the order of its columns. */
export const ENTITY_FIELDS = ["description", "domain", "owners", "tags", "terms"] as const;
export type EntityField = (typeof ENTITY_FIELDS)[number];

export const ENTITY_HEADER = [
  "urn",
  "type",
  "name",
  "platform",
  "location",
  ...ENTITY_FIELDS,
  "imported_description",
  "deprecated",
  "check",
];

export const COLUMN_HEADER = [
  "urn",
  "dataset",
  "platform",
  "location",
  "column",
  "type",
  "description",
  "imported_description",
  "check",
];

/** A name without the characters that separate references, or start formulas. */
const cleanName = (name: string) =>
  name
    .replace(/[<>;\s]+/g, " ")
    .replace(/^[=+\-@' ]+/, "")
    .trim();

export function formatReference(urn: string, name: string | undefined): string {
  const clean = cleanName(name ?? "");
  return clean === "" || name === urn ? urn : `${clean} <${urn}>`;
}

/** The cell of a value. */
export function formatValue(
  field: EntityField,
  value: Values[Facet] | undefined,
  names: ReadonlyMap<string, string>,
): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string")
    return field === "domain" ? formatReference(value, names.get(value)) : value;
  const list = value as readonly string[];
  return list.map((key) => formatElement(field, key, names)).join("; ");
}

function formatElement(
  field: EntityField,
  key: string,
  names: ReadonlyMap<string, string>,
): string {
  if (field !== "owners") return formatReference(key, names.get(key));
  const { owner, type } = ownerOf(key);
  const reference = formatReference(owner, names.get(owner));
  return type === "" ? reference : `${reference} as ${formatReference(type, names.get(type))}`;
}

/** What a cell refers to: by URN, or by name. */
export type Reference = { readonly urn: string } | { readonly name: string };

export function parseReference(text: string): Reference {
  const inBrackets = /<(urn:li:[^>]+)>$/.exec(text.trim())?.[1];
  if (inBrackets !== undefined) return { urn: inBrackets };
  return text.trim().startsWith("urn:li:") ? { urn: text.trim() } : { name: text.trim() };
}

/** The entries of a list. Semicolons in a URN in brackets do not separate. */
export const parseList = (cell: string): readonly string[] =>
  (cell.match(/(?:<[^>]*>|[^;])+/g) ?? []).map((entry) => entry.trim()).filter((entry) => entry);

/** An owner, and the type of ownership if the entry has one. */
export function parseOwner(entry: string): {
  readonly owner: Reference;
  readonly type: Reference | undefined;
} {
  const [, owner, type] = /^(.*<urn:li:[^>]+>|.*)\s+as\s+(.+)$/s.exec(entry) ?? [];
  // A name that contains “as” itself, with its URN behind it.
  if (owner === undefined || type === undefined || /^[^<]*<urn:li:corp[^>]*>$/.test(type))
    return { owner: parseReference(entry), type: undefined };
  return { owner: parseReference(owner), type: parseReference(type) };
}

/** A short check of a value (FNV-1a). It tells apart versions, and needs no secrecy. */
export function checkOf(value: Values[Facet]): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(canonical(value))) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return hash.toString(16).padStart(8, "0");
}

/** The checks of all fields, in one cell. Dots keep spreadsheets from reading a number. */
export const formatChecks = (values: readonly (Values[Facet] | undefined)[]) =>
  `c.${values.map((value) => (value === undefined ? "" : checkOf(value))).join(".")}`;

export function parseChecks(cell: string): readonly string[] | null {
  return cell.startsWith("c.") ? cell.slice(2).split(".") : null;
}
