// The privileges of the current user on entities whose type has no `privileges` in the API.

import { useApiQuery, useMe } from "./api/cache.ts";
import { GrantedPrivilegesDocument, type EntityType } from "./generated/operations.ts";

/** The names of the privileges that the current user has on an entity. */
export function useGranted(type: EntityType, urn: string): ReadonlySet<string> {
  const actor = useMe().data?.me?.corpUser.urn;
  const read = useApiQuery(
    GrantedPrivilegesDocument,
    { actor: actor ?? "", type, urn },
    { enabled: actor !== undefined },
  );
  return new Set(read.data?.getGrantedPrivileges?.privileges);
}
