import { useGranted } from "../granted.ts";

/** What the current user may do to a tag. */
export function useTagPrivileges(urn: string) {
  const granted = useGranted("TAG", urn);
  const hasOne = (...names: readonly string[]) => names.some((name) => granted.has(name));
  return {
    canEdit: hasOne("EDIT_ENTITY", "MANAGE_TAGS"),
    canEditDescription: hasOne("EDIT_ENTITY", "MANAGE_TAGS", "EDIT_ENTITY_DOCS"),
    canEditOwners: hasOne("EDIT_ENTITY", "MANAGE_TAGS", "EDIT_ENTITY_OWNERS"),
    canDelete: hasOne("DELETE_ENTITY", "MANAGE_TAGS"),
  };
}
