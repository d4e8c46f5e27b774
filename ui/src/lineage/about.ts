// What a card, the list and the impact list show of an entity: the API has other fields for each
// type.

import { locationOf, nameOf, urnId, type Nameable } from "../names.ts";
import { texts } from "../texts.ts";
import { isRestricted, type LineageEntity } from "./loading.ts";

export interface About {
  readonly urn: string;
  readonly name: string;
  readonly kind: string;
  readonly platform: string;
  readonly platformUrn: string | undefined;
  readonly location: string;
  readonly domain: (Nameable & { readonly urn: string }) | undefined;
  readonly owners: readonly (Nameable & { readonly urn: string })[];
  readonly isDeprecated: boolean;
  readonly isRestricted: boolean;
}

/** What is known about an entity; only the URN while it loads. */
export function aboutOf(urn: string, entity: LineageEntity | undefined): About {
  const unknown = {
    urn,
    name: isRestricted(urn) ? texts.common.restricted : urnId(urn),
    kind: "",
    platform: "",
    platformUrn: undefined,
    location: "",
    domain: undefined,
    owners: [],
    isDeprecated: false,
    isRestricted: isRestricted(urn),
  };
  if (entity === undefined) return unknown;
  const flow = "dataFlow" in entity ? entity.dataFlow : undefined;
  const platform = "platform" in entity ? entity.platform : flow?.platform;
  const subType = "subTypes" in entity ? entity.subTypes?.typeNames?.[0] : undefined;
  const containers = "parentContainers" in entity ? locationOf(entity) : "";
  return {
    ...unknown,
    name: unknown.isRestricted ? unknown.name : nameOf(entity),
    kind: subType ?? texts.entityTypes[entity.type]?.one ?? entity.type,
    platform: platform === undefined ? "" : nameOf(platform),
    platformUrn: platform?.urn,
    location: flow === null || flow === undefined ? containers : nameOf(flow),
    domain: ("domain" in entity ? entity.domain?.domain : undefined) ?? undefined,
    owners: "ownership" in entity ? (entity.ownership?.owners ?? []).map((it) => it.owner) : [],
    isDeprecated: "deprecation" in entity && entity.deprecation?.deprecated === true,
  };
}

/** The URN of a column. */
export const columnUrn = (table: string, path: string) => `urn:li:schemaField:(${table},${path})`;

/** The table and the field path in the URN of a column. */
export function columnOf(urn: string): { readonly table: string; readonly path: string } | null {
  const prefix = "urn:li:schemaField:(";
  if (!urn.startsWith(prefix) || !urn.endsWith(")")) return null;
  const key = urn.slice(prefix.length, -1);
  // The URN of the table ends where its parentheses are closed.
  let depth = 0;
  for (let at = 0; at < key.length; at++) {
    if (key[at] === "(") depth++;
    else if (key[at] === ")") depth--;
    else if (key[at] === "," && depth === 0)
      return { table: key.slice(0, at), path: key.slice(at + 1) };
  }
  return null;
}
