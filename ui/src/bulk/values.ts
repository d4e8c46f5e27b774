// What a change of many entities can change, as plain values that can be compared and restored.

/** Who owns, and in which way, as one text: sets of owners are compared like sets of tags. */
export type OwnerKey = string;

const SEPARATOR = "\n";

/** URNs contain no line breaks. */
export const ownerKey = (owner: string, type: string): OwnerKey => `${owner}${SEPARATOR}${type}`;

export function ownerOf(key: OwnerKey): { readonly owner: string; readonly type: string } {
  const [owner = "", type = ""] = key.split(SEPARATOR);
  return { owner, type };
}

export interface Deprecation {
  readonly note: string;
  readonly decommissionTime: number | null;
  readonly replacement: string | null;
}

/** The values by the part of the metadata that holds them. */
export interface Values {
  readonly domain: string | null;
  readonly tags: readonly string[];
  readonly terms: readonly string[];
  readonly owners: readonly OwnerKey[];
  /** `null` if it is not deprecated. */
  readonly deprecation: Deprecation | null;
  readonly removed: boolean;
  /** The description edited by users. */
  readonly description: string;
}

export type Facet = keyof Values;

export type SetFacet = "tags" | "terms" | "owners";

export const isSetFacet = (facet: Facet): facet is SetFacet =>
  facet === "tags" || facet === "terms" || facet === "owners";

/** The elements of one list that the other one lacks. */
export function difference(left: readonly string[], right: readonly string[]): readonly string[] {
  const known = new Set(right);
  return left.filter((element) => !known.has(element));
}

export const union = (left: readonly string[], right: readonly string[]): readonly string[] => [
  ...left,
  ...difference(right, left),
];

/** Line breaks differ between programs, which is no change of a text. */
export const normalizeText = (text: string) => text.replaceAll("\r\n", "\n");

/** A text that is the same for equal values: the order of tags and owners has no meaning. */
export function canonical(value: Values[Facet]): string {
  if (Array.isArray(value)) return JSON.stringify([...value].sort());
  return JSON.stringify(typeof value === "string" ? normalizeText(value) : value);
}
