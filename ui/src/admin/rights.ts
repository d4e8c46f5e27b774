// What the current user may administer. The API names the granted privileges; each section lists
// those of which one is enough.

import { useApiQuery, useMe } from "../api/cache.ts";
import { PlatformPrivilegesDocument } from "../generated/operations.ts";

export interface Rights {
  /** False until the privileges are known. */
  readonly isKnown: boolean;
  /** Whether the user has one of the privileges. */
  readonly has: (...names: readonly string[]) => boolean;
  readonly user: string;
}

/** The privileges of which one is enough for each section of the administration. */
export const SECTION_PRIVILEGES = {
  users: ["MANAGE_USERS_AND_GROUPS"],
  invitations: [
    "MANAGE_POLICIES",
    "MANAGE_USERS_AND_GROUPS",
    "CREATE_USERS_AND_GROUPS",
    "CREATE_USERS",
  ],
  groups: [
    "MANAGE_USERS_AND_GROUPS",
    "CREATE_USERS_AND_GROUPS",
    "UPDATE_USERS_AND_GROUPS",
    "CREATE_GROUPS",
    "UPDATE_GROUPS",
  ],
  roles: ["MANAGE_POLICIES"],
  policies: ["MANAGE_POLICIES"],
  "all-tokens": ["MANAGE_ACCESS_TOKENS"],
  "service-accounts": ["MANAGE_SERVICE_ACCOUNTS"],
  "ownership-types": ["MANAGE_GLOBAL_OWNERSHIP_TYPES"],
  audit: ["MANAGE_SYSTEM_OPERATIONS", "GET_ANALYTICS_PRIVILEGE"],
  server: ["MANAGE_SYSTEM_OPERATIONS", "VIEW_SYSTEM_STATUS"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type AdminSection = keyof typeof SECTION_PRIVILEGES;

export function useRights(): Rights {
  const me = useMe();
  const user = me.data?.me?.corpUser.urn ?? "";
  const read = useApiQuery(PlatformPrivilegesDocument, { actor: user }, { enabled: user !== "" });
  const granted = new Set(read.data?.getGrantedPrivileges?.privileges ?? []);
  return {
    isKnown: read.isSuccess,
    has: (...names) => names.some((name) => granted.has(name)),
    user,
  };
}
