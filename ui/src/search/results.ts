// Search results with their facets. Both are requested and shown together, to avoid layout shifts.

import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { run } from "../api/client.ts";
import {
  FacetValuesDocument,
  SearchDocument,
  type FacetFragment,
} from "../generated/operations.ts";
import { FACET_ORDER } from "./facets.tsx";
import { filteredFields, facetVariables, searchVariables, type SearchState } from "./state.ts";

export function useResults(state: SearchState) {
  return useQuery({
    queryKey: [SearchDocument.text, searchVariables(state)],
    queryFn: ({ signal }) => search(state, signal),
    placeholderData: keepPreviousData,
  });
}

async function search(state: SearchState, signal: AbortSignal) {
  const filtered = filteredFields(state).filter((field) => FACET_ORDER.includes(field));
  const [reply, ...facetReplies] = await Promise.all([
    run(SearchDocument, searchVariables(state), signal),
    ...filtered.map((field) => run(FacetValuesDocument, facetVariables(state, field), signal)),
  ]);
  const results = reply.searchAcrossEntities;
  const facets = new Map((results?.facets ?? []).map((facet) => [facet.field, facet]));
  for (const [index, field] of filtered.entries()) {
    const unfiltered = facetReplies[index]?.aggregateAcrossEntities?.facets?.find(
      (facet) => facet.field === field,
    );
    if (unfiltered !== undefined)
      facets.set(field, withSelected(unfiltered, facets.get(field), state.filters[field] ?? []));
  }
  return {
    total: results?.total ?? 0,
    results: results?.searchResults ?? [],
    facets: [...facets.values()],
  };
}

/** Adds the selected values to the list, even if they are rare. */
function withSelected(
  unfiltered: FacetFragment,
  filtered: FacetFragment | undefined,
  selected: readonly string[],
) {
  const listed = new Set(unfiltered.aggregations.map((value) => value.value));
  const missing = selected
    .filter((value) => !listed.has(value))
    .map(
      (value) =>
        filtered?.aggregations.find((candidate) => candidate.value === value) ?? {
          value,
          count: 0,
          entity: null,
        },
    );
  return { ...unfiltered, aggregations: [...unfiltered.aggregations, ...missing] };
}
