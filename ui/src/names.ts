// What things are called. The API gives an entity in the shape that its kind has; here is how each becomes a line of text.

import { texts } from "./texts.ts";

interface Titled {
  readonly name?: string | null;
  readonly displayName?: string | null;
  readonly fullName?: string | null;
}

/** Whatever the API may give of an entity that is to be named. */
export interface Nameable {
  readonly urn?: string;
  readonly id?: string;
  readonly name?: string;
  readonly username?: string;
  readonly properties?: Titled | null;
  readonly editableProperties?: Titled | null;
  readonly domainProperties?: Titled | null;
  readonly containerProperties?: Titled | null;
  readonly tagProperties?: Titled | null;
  readonly termProperties?: Titled | null;
}

const SYSTEM = "urn:li:corpuser:__datahub_system";

/** The last part of a URN, which is all there is to show when nothing else is known. */
export function lastPart(urn: string): string {
  const key = urn.split(":").slice(3).join(":");
  return key === "" ? urn : key;
}

export function nameOf(entity: Nameable | null | undefined): string {
  if (entity === null || entity === undefined) return texts.common.someone;
  if (entity.urn === SYSTEM) return texts.common.system;
  const said = [
    entity.editableProperties,
    entity.properties,
    entity.domainProperties,
    entity.containerProperties,
    entity.tagProperties,
    entity.termProperties,
  ];
  for (const titled of said) {
    const name = titled?.displayName ?? titled?.fullName ?? titled?.name;
    if (name !== undefined && name !== null && name !== "") return name;
  }
  return (
    entity.name ??
    entity.username ??
    entity.id ??
    (entity.urn === undefined ? texts.common.someone : lastPart(entity.urn))
  );
}

interface Described {
  readonly description?: string | null;
}

/** What people wrote about an entity, or else what ingestion reported; empty if there is neither. */
export function descriptionOf(entity: {
  readonly urn?: string;
  readonly properties?: Described | null;
  readonly editableProperties?: Described | null;
}): string {
  return entity.editableProperties?.description || entity.properties?.description || "";
}

/** The names of a chain of parents, from the top down, as one text. */
export function chainOf(parents: readonly Nameable[] | undefined): string {
  return [...(parents ?? [])].reverse().map(nameOf).join(" › ");
}
