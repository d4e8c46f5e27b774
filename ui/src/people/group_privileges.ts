// What lets users create and change groups.

import { useRights } from "../rights.ts";

export const GROUP_CREATORS = [
  "MANAGE_USERS_AND_GROUPS",
  "CREATE_USERS_AND_GROUPS",
  "CREATE_GROUPS",
] as const;

/** Who manages groups may also join any. */
export const GROUP_MANAGERS = [
  "MANAGE_USERS_AND_GROUPS",
  "UPDATE_USERS_AND_GROUPS",
  "UPDATE_GROUPS",
] as const;

/** What the current user may do to a group and its members. */
export function useGroupPrivileges(urn: string) {
  const rights = useRights({ type: "CORP_GROUP", urn });
  return {
    canManage: rights.has(...GROUP_MANAGERS),
    canEditMembers: rights.has(...GROUP_MANAGERS, "EDIT_GROUP_MEMBERS"),
  };
}
