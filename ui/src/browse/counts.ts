import type { ValueCountsQuery } from "../generated/operations.ts";

/** How many entities have each value of a field. */
export function countsOf(
  read: ValueCountsQuery | undefined,
  field: string,
): ReadonlyMap<string, number> {
  const facets = read?.aggregateAcrossEntities?.facets ?? [];
  const facet = facets.find((candidate) => candidate.field === field);
  return new Map(facet?.aggregations.map((value) => [value.value, value.count]));
}

/** Joins two fields whose pairs of values are counted. */
export const PAIR = "␞";

/** The facets that count a label: on entities, on their columns from ingestion, on their columns from
 *  users, and the overlap of the last two. */
export const labelFacets = (fields: readonly string[]) => [...fields, fields.slice(1).join(PAIR)];

/** How many entities have each label on a column, from ingestion, from users or from both. */
export function columnCountsOf(
  read: ValueCountsQuery | undefined,
  fields: readonly string[],
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const field of fields.slice(1)) {
    for (const [label, count] of countsOf(read, field))
      counts.set(label, (counts.get(label) ?? 0) + count);
  }
  for (const [pair, count] of countsOf(read, fields.slice(1).join(PAIR))) {
    const [label = "", other] = pair.split(PAIR);
    if (label === other) counts.set(label, (counts.get(label) ?? 0) - count);
  }
  return counts;
}
