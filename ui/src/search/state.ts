// What is searched for, as it stands in the address: a search can be sent to somebody, kept, and gone back to.

import * as addresses from "../addresses.ts";
import { pageOf } from "../components/pages.tsx";
import type { AndFilterInput, EntityType, FacetFilterInput, SearchQueryVariables } from "../generated/operations.ts";

export const PAGE_SIZE = 20;

const PREFIX = "filter_";
/** The kinds that have a page here. */
const TYPES: readonly EntityType[] = ["DATASET", "DOMAIN"];
const KIND = "_entityType";
/** A domain with everything below it; not a field of the index. */
export const BELOW_DOMAIN = "belowDomain";

export interface SearchState {
  readonly query: string;
  readonly filters: Readonly<Record<string, readonly string[]>>;
  readonly page: number;
}

export function stateOf(search: string): SearchState {
  const parameters = new URLSearchParams(search);
  const filters: Record<string, string[]> = {};
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

export function variablesOf(state: SearchState): SearchQueryVariables {
  const and = Object.entries(state.filters).flatMap(([field, values]) => conditionsOf(field, values));
  const filters: AndFilterInput[] = and.length === 0 ? [] : [{ and }];
  const kinds = TYPES.filter((type) => state.filters[KIND]?.includes(type) ?? false);
  return {
    query: state.query === "" ? "*" : state.query,
    types: kinds.length === 0 ? TYPES : kinds,
    filters,
    start: (state.page - 1) * PAGE_SIZE,
    count: PAGE_SIZE,
  };
}

function conditionsOf(field: string, values: readonly string[]): FacetFilterInput[] {
  if (values.length === 0 || field === KIND) return [];
  if (field === BELOW_DOMAIN) return [{ field: "domains", values, condition: "DESCENDANTS_INCL" }];
  // What is not documented has no such value at all.
  if (field === "hasDescription" && values[0] === "false") return [{ field, values: ["true"], negated: true }];
  return [{ field, values }];
}
