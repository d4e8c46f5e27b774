import type { LineageColumnsQuery } from "../generated/operations.ts";

/** The paths to all results of a search across lineage, from the start. */
export function pathsOf(
  results: LineageColumnsQuery["downstream"],
): ReadonlyArray<readonly string[]> {
  return (results?.searchResults ?? []).flatMap(({ paths }) =>
    (paths ?? []).flatMap((path) => {
      const urns = path?.path.flatMap((entity) => (entity === null ? [] : [entity.urn]));
      return urns === undefined ? [] : [urns];
    }),
  );
}
