// Display names. The API returns a different shape for each entity type; this module turns each
// into a line of text.

import { texts } from "./texts.ts";

interface NameFields {
  readonly name?: string | null;
  readonly displayName?: string | null;
  readonly fullName?: string | null;
}

/** The fields of an entity that may hold its name. */
export interface Nameable {
  readonly urn?: string;
  readonly id?: string;
  readonly name?: string;
  readonly username?: string;
  readonly properties?: NameFields | null;
  readonly editableProperties?: NameFields | null;
  readonly domainProperties?: NameFields | null;
  readonly containerProperties?: NameFields | null;
  readonly tagProperties?: NameFields | null;
  readonly termProperties?: NameFields | null;
  readonly nodeProperties?: NameFields | null;
  readonly groupProperties?: NameFields | null;
  readonly dashboardProperties?: NameFields | null;
  readonly chartProperties?: NameFields | null;
  readonly flowProperties?: NameFields | null;
  readonly jobProperties?: NameFields | null;
  readonly productProperties?: NameFields | null;
}

const SYSTEM_USER = "urn:li:corpuser:__datahub_system";

/** The key of a URN, shown when an entity has no name. */
export function urnId(urn: string): string {
  const key = urn.split(":").slice(3).join(":");
  return key === "" ? urn : key;
}

/** Whether an actor is the server itself, as for imports and the sample catalog. */
export const isSystemUser = (actor: Nameable) => actor.urn === SYSTEM_USER;

export function nameOf(entity: Nameable | null | undefined): string {
  if (entity === null || entity === undefined) return texts.common.unknown;
  if (isSystemUser(entity)) return texts.common.system;
  const candidates = [
    entity.editableProperties,
    entity.properties,
    entity.domainProperties,
    entity.containerProperties,
    entity.tagProperties,
    entity.termProperties,
    entity.nodeProperties,
    entity.groupProperties,
    entity.dashboardProperties,
    entity.chartProperties,
    entity.flowProperties,
    entity.jobProperties,
    entity.productProperties,
  ];
  for (const fields of candidates) {
    const name = fields?.displayName ?? fields?.fullName ?? fields?.name;
    if (name !== undefined && name !== null && name !== "") return name;
  }
  return (
    entity.name ??
    entity.username ??
    entity.id ??
    (entity.urn === undefined ? texts.common.unknown : urnId(entity.urn))
  );
}

/** Where a dataset is: its containers from the root down, or else its qualified name. Tells
 *  datasets of the same name apart. */
export function locationOf(dataset: {
  readonly urn?: string;
  readonly name?: string;
  readonly parentContainers?: { readonly containers: readonly Nameable[] } | null;
}): string {
  const containers = parentPath(dataset.parentContainers?.containers);
  if (containers !== "") return containers;
  const qualified = dataset.name ?? "";
  return qualified === nameOf(dataset) ? "" : qualified;
}

/** What tells an entity apart from others of the same name: what it is in, from the root down. */
export function contextOf(entity: {
  readonly urn?: string;
  readonly name?: string;
  readonly platform?: Nameable | null;
  readonly dataFlow?: Nameable | null;
  readonly parentContainers?: { readonly containers: readonly Nameable[] } | null;
  readonly parentDomains?: { readonly domains: readonly Nameable[] } | null;
  readonly parentNodes?: { readonly nodes: readonly Nameable[] } | null;
}): string {
  const inside =
    parentPath(entity.parentDomains?.domains) ||
    parentPath(entity.parentNodes?.nodes) ||
    (entity.parentContainers === undefined ? "" : locationOf(entity));
  const parts = [entity.platform, entity.dataFlow].flatMap((part) =>
    part === null || part === undefined ? [] : [nameOf(part)],
  );
  return [...parts, ...(inside === "" ? [] : [inside])].join(" › ");
}

interface DescriptionFields extends NameFields {
  readonly description?: string | null;
  /** A glossary term's description. */
  readonly definition?: string | null;
}

/** The description edited by users, else the imported one, else an empty string. */
export function descriptionOf(entity: {
  readonly urn?: string;
  readonly properties?: DescriptionFields | null;
  readonly editableProperties?: DescriptionFields | null;
  readonly edits?: DescriptionFields | null;
  readonly containerProperties?: DescriptionFields | null;
  readonly tagProperties?: DescriptionFields | null;
  readonly termProperties?: DescriptionFields | null;
  readonly nodeProperties?: DescriptionFields | null;
  readonly groupProperties?: DescriptionFields | null;
  readonly dashboardProperties?: DescriptionFields | null;
  readonly chartProperties?: DescriptionFields | null;
  readonly flowProperties?: DescriptionFields | null;
  readonly jobProperties?: DescriptionFields | null;
  readonly productProperties?: DescriptionFields | null;
}): string {
  const candidates = [
    entity.editableProperties,
    entity.edits,
    entity.properties,
    entity.containerProperties,
    entity.tagProperties,
    entity.termProperties,
    entity.nodeProperties,
    entity.groupProperties,
    entity.dashboardProperties,
    entity.chartProperties,
    entity.flowProperties,
    entity.jobProperties,
    entity.productProperties,
  ];
  const texts = candidates.map((fields) => fields?.definition || fields?.description || "");
  return texts.find((text) => text !== "") ?? "";
}

/** The names of the parents as one path, from the root down. */
export function parentPath(parents: readonly Nameable[] | undefined): string {
  return [...(parents ?? [])].reverse().map(nameOf).join(" › ");
}
