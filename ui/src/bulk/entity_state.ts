// The current state of many entities: their values, their names, and what the user may change.

import { run } from "../api/client.ts";
import { BulkStatesDocument, type BulkStatesQuery } from "../generated/operations.ts";
import { nameOf, type Nameable } from "../names.ts";
import { readPages, type RejectedUrns } from "./read_pages.ts";
import { ownerKey, type Facet, type Values } from "./values.ts";

/** Whether the user may change a part of an entity, or propose the change. */
export type Permission = "edit" | "propose" | "none";

export interface EntityState {
  readonly urn: string;
  readonly type: string;
  readonly name: string;
  /** As the API returned it, for further names. */
  readonly entity: BulkEntity;
  /** Only what this type of entity has. */
  readonly values: Partial<Values>;
  readonly permissions: Readonly<Record<Facet, Permission>>;
}

export type BulkEntity = NonNullable<NonNullable<BulkStatesQuery["entities"]>[number]>;

/** The entities of one request. */
export const READ_SIZE = 100;

/** The names of tags, terms, domains, owners and ownership types, by URN. */
export type Names = Map<string, string>;

export interface States {
  readonly byUrn: ReadonlyMap<string, EntityState>;
  readonly names: Names;
  readonly rejected: RejectedUrns;
}

/** Reads the states of entities, in pages. Entities that no longer exist, or that the user may not
 *  see, are absent. */
export async function readStates(
  urns: readonly string[],
  signal: AbortSignal,
  onProgress: (done: number) => void = () => undefined,
): Promise<States> {
  const byUrn = new Map<string, EntityState>();
  const names: Names = new Map();
  const read = async (page: readonly string[]) => {
    const reply = await run(BulkStatesDocument, { urns: page }, signal);
    for (const entity of reply.entities ?? []) {
      if (entity !== null) byUrn.set(entity.urn, stateOf(entity, names));
    }
  };
  const rejected = await readPages(urns, READ_SIZE, read, onProgress);
  return { byUrn, names, rejected };
}

function stateOf(entity: BulkEntity, names: Names): EntityState {
  return {
    urn: entity.urn,
    type: entity.type,
    name: nameOf(entity as Nameable),
    entity,
    values: valuesOf(entity, names),
    permissions: permissionsOf(entity),
  };
}

function valuesOf(entity: BulkEntity, names: Names): Partial<Values> {
  const named = (reference: Nameable & { readonly urn: string }) => {
    names.set(reference.urn, nameOf(reference));
    return reference.urn;
  };
  const values: { -readonly [Name in Facet]?: Values[Name] } = {};
  if ("domain" in entity) values.domain = entity.domain ? named(entity.domain.domain) : null;
  if ("tags" in entity) values.tags = (entity.tags?.tags ?? []).map(({ tag }) => named(tag));
  if ("glossaryTerms" in entity)
    values.terms = (entity.glossaryTerms?.terms ?? []).map(({ term }) => named(term));
  if ("ownership" in entity) {
    values.owners = (entity.ownership?.owners ?? []).map(({ owner, ownershipType }) => {
      const type = ownershipType?.urn ?? "";
      // Kinds from before ownership types were entities have no info.
      if (type !== "") names.set(type, ownershipType?.info?.name ?? type);
      return ownerKey(named(owner), type);
    });
  }
  if ("deprecation" in entity) {
    const { deprecation } = entity;
    values.deprecation =
      deprecation?.deprecated === true
        ? {
            note: deprecation.note ?? "",
            decommissionTime: deprecation.decommissionTime ?? null,
            replacement: deprecation.replacement?.urn ?? null,
          }
        : null;
  }
  if ("status" in entity) values.removed = entity.status?.removed === true;
  if ("edits" in entity) values.description = entity.edits?.description ?? "";
  return values;
}

function permissionsOf(entity: BulkEntity): Record<Facet, Permission> {
  const privileges = "privileges" in entity ? entity.privileges : null;
  const permission = (may: boolean | null | undefined): Permission => {
    if (may === true) return "edit";
    return privileges?.canProposeChanges === true ? "propose" : "none";
  };
  return {
    domain: permission(privileges?.canEditDomains),
    tags: permission(privileges?.canEditTags),
    terms: permission(privileges?.canEditGlossaryTerms),
    owners: permission(privileges?.canEditOwners),
    deprecation: permission(privileges?.canEditDeprecation),
    // Whoever may change all of an entity may also hide it.
    removed: permission(privileges?.canManageEntity),
    description: permission(privileges?.canEditDescription),
  };
}
