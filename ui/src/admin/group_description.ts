/** The description that users wrote, or else the imported one. */
export function groupDescription(group: {
  readonly edited: { readonly description: string | null } | null;
  readonly properties: { readonly description: string | null } | null;
}): string {
  return group.edited?.description || group.properties?.description || "";
}
