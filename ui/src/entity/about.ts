// What the page of an entity shows, whatever its type: the API has other fields for each.

import type { EntityPageQuery } from "../generated/operations.ts";
import type { Nameable } from "../names.ts";

type Entity = NonNullable<EntityPageQuery["entity"]>;

interface Descriptions {
  /** The description edited by users, or an empty string. */
  readonly edited: string;
  /** The imported one; absent for types that store only one description. */
  readonly imported?: string;
}

/** Reads a member that only some types have. */
function member<Name extends string>(entity: Entity, name: Name): unknown {
  return (entity as Readonly<Record<string, unknown>>)[name];
}

/** The aliases under which the operation reads the properties of each type. */
const PROPERTIES = [
  "containerProperties",
  "dashboardProperties",
  "chartProperties",
  "flowProperties",
  "jobProperties",
];
/** Those of types with a single description, which users edit. */
const OWN_PROPERTIES = ["tagProperties", "termProperties", "nodeProperties", "productProperties"];

interface Properties {
  readonly description?: string | null;
  readonly definition?: string | null;
  readonly externalUrl?: string | null;
}

function propertiesOf(entity: Entity, names: readonly string[]): Properties | undefined {
  const found = names.map((name) => member(entity, name) as Properties | null | undefined);
  return found.find((properties) => properties !== null && properties !== undefined);
}

export function descriptionsOf(entity: Entity): Descriptions {
  const own = propertiesOf(entity, OWN_PROPERTIES);
  if (own !== undefined) return { edited: own.definition || own.description || "" };
  const edits = member(entity, "edits") as Properties | null | undefined;
  const imported = propertiesOf(entity, [...PROPERTIES, "groupProperties"]);
  return { edited: edits?.description ?? "", imported: imported?.description ?? "" };
}

/** The page of the entity in its own system, if its address is safe to open. */
export function externalUrlOf(entity: Entity): string | undefined {
  const url = propertiesOf(entity, [...PROPERTIES, ...OWN_PROPERTIES])?.externalUrl ?? "";
  return /^https?:/.test(url) ? url : undefined;
}

/** What the entity is in, from the root down. */
export function ancestorsOf(entity: Entity): readonly (Nameable & { readonly urn: string })[] {
  const ancestors = [];
  if ("platform" in entity && entity.platform !== undefined) ancestors.push(entity.platform);
  if ("parentContainers" in entity)
    ancestors.push(...[...(entity.parentContainers?.containers ?? [])].reverse());
  if ("parentNodes" in entity) ancestors.push(...[...(entity.parentNodes?.nodes ?? [])].reverse());
  if ("dataFlow" in entity && entity.dataFlow !== null && entity.dataFlow !== undefined)
    ancestors.push(entity.dataFlow.platform, entity.dataFlow);
  return ancestors;
}

/** The filter of a search for what carries an entity, or is in it. */
export function memberFilter(type: Entity["type"]): string | undefined {
  switch (type) {
    case "TAG":
      return "anyTag";
    case "GLOSSARY_TERM":
      return "anyGlossaryTerm";
    case "GLOSSARY_NODE":
      return "parentNode";
    case "CORP_USER":
    case "CORP_GROUP":
      return "owners";
    case "CONTAINER":
      return "container";
    case "DATA_PLATFORM":
      return "platform";
    default:
      return undefined;
  }
}
