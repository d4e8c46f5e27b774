// What a search finds, with the values by which it can be narrowed. Both are asked for together and shown together, so that
// nothing jumps when one comes late.

import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { run } from "../api/client.ts";
import { FacetValuesDocument, SearchDocument, type FacetFragment } from "../generated/operations.ts";
import { ORDER } from "./facets.tsx";
import { narrowedFields, valuesOf, variablesOf, type SearchState } from "./state.ts";

export function useResults(state: SearchState) {
  return useQuery({
    queryKey: [SearchDocument.text, variablesOf(state)],
    queryFn: ({ signal }) => find(state, signal),
    placeholderData: keepPreviousData,
  });
}

async function find(state: SearchState, signal: AbortSignal) {
  const narrowed = narrowedFields(state).filter((field) => ORDER.includes(field));
  const [found, ...counted] = await Promise.all([
    run(SearchDocument, variablesOf(state), signal),
    ...narrowed.map((field) => run(FacetValuesDocument, valuesOf(state, field), signal)),
  ]);
  const results = found.searchAcrossEntities;
  const facets = new Map((results?.facets ?? []).map((facet) => [facet.field, facet]));
  for (const [place, field] of narrowed.entries()) {
    const whole = counted[place]?.aggregateAcrossEntities?.facets?.find((facet) => facet.field === field);
    if (whole !== undefined) facets.set(field, withChosen(whole, facets.get(field), state.filters[field] ?? []));
  }
  return { total: results?.total ?? 0, results: results?.searchResults ?? [], facets: [...facets.values()] };
}

/** What is chosen stays in the list, however rare it is. */
function withChosen(whole: FacetFragment, narrowed: FacetFragment | undefined, chosen: readonly string[]) {
  const listed = new Set(whole.aggregations.map((value) => value.value));
  const missing = chosen
    .filter((value) => !listed.has(value))
    .map(
      (value) => narrowed?.aggregations.find((counted) => counted.value === value) ?? { value, count: 0, entity: null },
    );
  return { ...whole, aggregations: [...whole.aggregations, ...missing] };
}
