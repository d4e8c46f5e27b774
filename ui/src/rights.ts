// The privileges of the current user where the API has no `privileges` field: of the whole catalog, or
// on one entity.

import { useApiQuery, useMe } from "./api/cache.ts";
import { GrantedPrivilegesDocument, type EntityType } from "./generated/operations.ts";

export interface Rights {
  /** False until the privileges are known. */
  readonly isKnown: boolean;
  /** Whether the user has one of the privileges. */
  readonly has: (...names: readonly string[]) => boolean;
  readonly user: string;
}

/** The privileges of the current user, on an entity if one is given. */
export function useRights(entity?: { readonly type: EntityType; readonly urn: string }): Rights {
  const user = useMe().data?.me?.corpUser.urn ?? "";
  const resource =
    entity === undefined ? null : { resourceType: entity.type, resourceUrn: entity.urn };
  const read = useApiQuery(
    GrantedPrivilegesDocument,
    { actor: user, resource },
    { enabled: user !== "" },
  );
  const granted = new Set(read.data?.getGrantedPrivileges?.privileges ?? []);
  return {
    isKnown: read.isSuccess,
    has: (...names) => names.some((name) => granted.has(name)),
    user,
  };
}
