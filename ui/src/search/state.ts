// The state of a search, stored in the address so that searches can be shared, bookmarked and
// returned to.

import * as addresses from "../addresses.ts";
import { pageFromAddress } from "../components/pagination.tsx";
import type {
  AndFilterInput,
  EntityType,
  FacetFilterInput,
  FacetValuesQueryVariables,
  SearchQueryVariables,
} from "../generated/operations.ts";

export const PAGE_SIZE = 20;

const PREFIX = "filter_";
/** The entity types that have a page. */
const TYPES: readonly EntityType[] = [
  "DATASET",
  "DOMAIN",
  "CONTAINER",
  "DASHBOARD",
  "CHART",
  "DATA_FLOW",
  "DATA_JOB",
  "DATA_PRODUCT",
  "GLOSSARY_TERM",
  "GLOSSARY_NODE",
  "TAG",
  "CORP_USER",
  "CORP_GROUP",
];
export const ENTITY_TYPE = "_entityType";
/** Filters by a domain including its subdomains; not a field of the index. */
export const DOMAIN_SUBTREE = "belowDomain";

export interface SearchState {
  readonly query: string;
  readonly filters: Readonly<Record<string, readonly string[]>>;
  readonly page: number;
}

export function stateOf(search: string): SearchState {
  const parameters = new URLSearchParams(search);
  // No prototype, because the names come from the address.
  const filters: Record<string, string[]> = Object.create(null);
  for (const [name, value] of parameters) {
    if (name.startsWith(PREFIX)) (filters[name.slice(PREFIX.length)] ??= []).push(value);
  }
  return {
    query: parameters.get("query") ?? "",
    filters,
    page: pageFromAddress(parameters, PAGE_SIZE),
  };
}

/** The address of the search with a filter value added or removed, at its first page. */
export function toggleFilter(state: SearchState, field: string, value: string): string {
  const selected = state.filters[field] ?? [];
  const next = selected.includes(value)
    ? selected.filter((other) => other !== value)
    : [...selected, value];
  return addresses.search(state.query, { ...state.filters, [field]: next });
}

export function filteredFields(state: SearchState): string[] {
  return Object.keys(state.filters).filter((field) => (state.filters[field] ?? []).length > 0);
}

export function activeFilterCount(state: SearchState): number {
  return Object.values(state.filters).reduce((sum, values) => sum + values.length, 0);
}

export function searchVariables(state: SearchState): SearchQueryVariables {
  return { ...conditionsOf(state), start: (state.page - 1) * PAGE_SIZE, count: PAGE_SIZE };
}

/** Variables to count the values of a facet. Ignores the filter on that facet, because selecting
 *  another value widens the search. */
export function facetVariables(state: SearchState, field: string): FacetValuesQueryVariables {
  return { ...conditionsOf({ ...state, filters: { ...state.filters, [field]: [] } }), field };
}

function conditionsOf(
  state: SearchState,
): Pick<SearchQueryVariables, "query" | "types" | "filters"> {
  const and = Object.entries(state.filters).flatMap(([field, values]) =>
    conditionOf(field, values),
  );
  const filters: AndFilterInput[] = and.length === 0 ? [] : [{ and }];
  const types = TYPES.filter((type) => state.filters[ENTITY_TYPE]?.includes(type) ?? false);
  return {
    query: state.query === "" ? "*" : state.query,
    types: types.length === 0 ? TYPES : types,
    filters,
  };
}

function conditionOf(field: string, values: readonly string[]): FacetFilterInput[] {
  if (values.length === 0 || field === ENTITY_TYPE) return [];
  if (field === DOMAIN_SUBTREE)
    return [{ field: "domains", values, condition: "DESCENDANTS_INCL" }];
  return [{ field, values }];
}
