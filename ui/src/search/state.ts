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

export const PREFIX = "filter_";
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
/** Filters by metadata that an entity lacks; not a field of the index. */
export const MISSING = "missing";
/** What can be missing, with the filter that finds it. */
export const MISSING_FILTERS = [
  { field: "hasDescription", value: "false" },
  { field: MISSING, value: "domains" },
  { field: MISSING, value: "owners" },
] as const;
/** The entity types that can have an owner or a domain. Searches for those without one leave out
 *  the others, such as users. */
export const TYPES_WITH = {
  owners: [
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
  ],
  domains: [
    "DATASET",
    "CONTAINER",
    "DASHBOARD",
    "CHART",
    "DATA_FLOW",
    "DATA_JOB",
    "DATA_PRODUCT",
    "GLOSSARY_TERM",
  ],
} as const satisfies Readonly<Record<string, readonly EntityType[]>>;
/** Filters by a domain including its subdomains; not a field of the index. */
export const DOMAIN_SUBTREE = "belowDomain";

/** Filters by a label of an entity or of one of its columns; not fields of the index. */
const LABELED: ReadonlyMap<string, readonly string[]> = new Map([
  ["anyTag", ["tags", "fieldTags", "editedFieldTags"]],
  ["anyGlossaryTerm", ["glossaryTerms", "fieldGlossaryTerms", "editedFieldGlossaryTerms"]],
]);

/** Filters by a saved search, which the API calls a view; not a field of the index. */
export const SAVED_SEARCH = "view";

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
  const start = (state.page - 1) * PAGE_SIZE;
  return { ...conditionsOf(state), start, count: PAGE_SIZE, hasNoFacets: false };
}

/** Variables to count the values of a facet. Ignores the filter on that facet, because selecting
 *  another value widens the search. */
export function facetVariables(state: SearchState, field: string): FacetValuesQueryVariables {
  return { ...conditionsOf({ ...state, filters: { ...state.filters, [field]: [] } }), field };
}

/** The query and the conditions, without a page. */
export function conditionsOf(state: SearchState): {
  readonly query: string;
  readonly types: readonly EntityType[];
  readonly filters: readonly AndFilterInput[];
  readonly viewUrn: string | null;
} {
  let alternatives: readonly (readonly FacetFilterInput[])[] = [[]];
  for (const [field, values] of Object.entries(state.filters)) {
    const conditions = (LABELED.get(field) ?? [field]).map((name) => conditionOf(name, values));
    alternatives = alternatives.flatMap((and) => conditions.map((more) => [...and, ...more]));
  }
  const filters: AndFilterInput[] = alternatives
    .filter((and) => and.length > 0)
    .map((and) => ({ and: [...and] }));
  const types = typesOf(state);
  return {
    query: state.query === "" ? "*" : state.query,
    types: types.length === 0 ? TYPES : types,
    filters,
    viewUrn: state.filters[SAVED_SEARCH]?.[0] ?? null,
  };
}

const typesOf = (state: SearchState) =>
  TYPES.filter((type) => state.filters[ENTITY_TYPE]?.includes(type) ?? false);

/** What a saved search consists of: the filters, without the text. Undefined if there are none, or
 *  if they need an alternative or another saved search, which a saved search can't contain. */
export function definitionOf(state: SearchState) {
  const fields = filteredFields(state);
  if (fields.length === 0 || fields.some((field) => field === SAVED_SEARCH || LABELED.has(field)))
    return undefined;
  const filters = Object.entries(state.filters).flatMap(([field, values]) =>
    conditionOf(field, values),
  );
  return { entityTypes: typesOf(state), filters };
}

function conditionOf(field: string, values: readonly string[]): FacetFilterInput[] {
  if (values.length === 0 || field === ENTITY_TYPE || field === SAVED_SEARCH) return [];
  if (field === DOMAIN_SUBTREE)
    return [{ field: "domains", values, condition: "DESCENDANTS_INCL" }];
  if (field === MISSING) return values.flatMap(missingConditions);
  return [{ field, values }];
}

function missingConditions(name: string): FacetFilterInput[] {
  if (name !== "owners" && name !== "domains") return [];
  return [
    { field: name, condition: "EXISTS", negated: true },
    { field: ENTITY_TYPE, values: TYPES_WITH[name] },
  ];
}
