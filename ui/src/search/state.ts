// What is searched for, as it stands in the address: a search can be sent to somebody, kept, and gone back to.

import * as addresses from "../addresses.ts";
import { pageOf } from "../components/pages.tsx";
import type {
  AndFilterInput,
  EntityType,
  FacetFilterInput,
  FacetValuesQueryVariables,
  SearchQueryVariables,
} from "../generated/operations.ts";

export const PAGE_SIZE = 20;

const PREFIX = "filter_";
/** The kinds that have a page here. */
const TYPES: readonly EntityType[] = ["DATASET", "DOMAIN"];
export const KIND = "_entityType";
/** A domain with everything below it; not a field of the index. */
export const BELOW_DOMAIN = "belowDomain";

export interface SearchState {
  readonly query: string;
  readonly filters: Readonly<Record<string, readonly string[]>>;
  readonly page: number;
}

export function stateOf(search: string): SearchState {
  const parameters = new URLSearchParams(search);
  // Without the names that every object has: what stands in the address is not ours.
  const filters: Record<string, string[]> = Object.create(null);
  for (const [name, value] of parameters) {
    if (name.startsWith(PREFIX)) (filters[name.slice(PREFIX.length)] ??= []).push(value);
  }
  return { query: parameters.get("query") ?? "", filters, page: pageOf(parameters, PAGE_SIZE) };
}

/** The address of the search with a value chosen, or no longer chosen. It begins at the first page again. */
export function toggled(state: SearchState, field: string, value: string): string {
  const chosen = state.filters[field] ?? [];
  const next = chosen.includes(value) ? chosen.filter((other) => other !== value) : [...chosen, value];
  return addresses.search(state.query, { ...state.filters, [field]: next });
}

/** The fields by which the search is narrowed. */
export function narrowedFields(state: SearchState): string[] {
  return Object.keys(state.filters).filter((field) => (state.filters[field] ?? []).length > 0);
}

/** How many values are chosen in all. */
export function chosenCount(state: SearchState): number {
  return Object.values(state.filters).reduce((sum, values) => sum + values.length, 0);
}

export function variablesOf(state: SearchState): SearchQueryVariables {
  return { ...conditionsOf(state), start: (state.page - 1) * PAGE_SIZE, count: PAGE_SIZE };
}

/** What is asked for to count the values of a field: the search as if nothing was chosen there, for choosing one more value
 *  of it finds more and not less. */
export function valuesOf(state: SearchState, field: string): FacetValuesQueryVariables {
  return { ...conditionsOf({ ...state, filters: { ...state.filters, [field]: [] } }), field };
}

function conditionsOf(state: SearchState): Pick<SearchQueryVariables, "query" | "types" | "filters"> {
  const and = Object.entries(state.filters).flatMap(([field, values]) => conditionOf(field, values));
  const filters: AndFilterInput[] = and.length === 0 ? [] : [{ and }];
  const kinds = TYPES.filter((type) => state.filters[KIND]?.includes(type) ?? false);
  return {
    query: state.query === "" ? "*" : state.query,
    types: kinds.length === 0 ? TYPES : kinds,
    filters,
  };
}

function conditionOf(field: string, values: readonly string[]): FacetFilterInput[] {
  if (values.length === 0 || field === KIND) return [];
  if (field === BELOW_DOMAIN) return [{ field: "domains", values, condition: "DESCENDANTS_INCL" }];
  return [{ field, values }];
}
