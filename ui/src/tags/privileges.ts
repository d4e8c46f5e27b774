import { useRights } from "../rights.ts";

/** What the current user may do to a tag. */
export function useTagPrivileges(urn: string) {
  const rights = useRights({ type: "TAG", urn });
  return {
    canEdit: rights.has("EDIT_ENTITY", "MANAGE_TAGS"),
    canEditDescription: rights.has("EDIT_ENTITY", "MANAGE_TAGS", "EDIT_ENTITY_DOCS"),
    canEditOwners: rights.has("EDIT_ENTITY", "MANAGE_TAGS", "EDIT_ENTITY_OWNERS"),
    canDelete: rights.has("DELETE_ENTITY", "MANAGE_TAGS"),
  };
}
