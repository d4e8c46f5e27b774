import { useId, useState } from "react";
import { useLocation } from "wouter";

import { SAME_PAGE } from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { useDomainHierarchy } from "../domain_hierarchy.ts";
import {
  EntityNamesDocument,
  SavedSearchesDocument,
  type FacetFragment,
} from "../generated/operations.ts";
import { urnId, nameOf } from "../names.ts";
import { texts } from "../texts.ts";
import {
  DOMAIN_SUBTREE,
  MISSING,
  MISSING_FILTERS,
  SAVED_SEARCH,
  toggleFilter,
  type SearchState,
} from "./state.ts";

type Value = FacetFragment["aggregations"][number];

const VISIBLE_VALUES = 6;
/** The number of values the server returns (`maxAggValues` of the search). */
const MAX_VALUES = 50;

/** The facets in display order, most useful first. */
export const FACET_ORDER: readonly string[] = [
  "_entityType",
  "platform",
  "domains",
  "owners",
  "tags",
  "glossaryTerms",
  "typeNames",
  "container",
  "origin",
];

export function Facets({
  facets,
  state,
}: {
  readonly facets: readonly FacetFragment[];
  readonly state: SearchState;
}) {
  const shown = FACET_ORDER.flatMap((field) =>
    facets.filter((facet) => facet.field === field),
  ).filter(
    (facet) => facet.aggregations.length > 1 || (state.filters[facet.field] ?? []).length > 0,
  );
  const hasResults = facets.some((facet) => facet.aggregations.length > 0);
  const isFilteredByMissing = MISSING_FILTERS.some(({ field, value }) =>
    (state.filters[field] ?? []).includes(value),
  );
  return (
    <div className="facets">
      {shown.map((facet) => (
        <FacetGroup key={facet.field} facet={facet} state={state} />
      ))}
      {(hasResults || isFilteredByMissing) && <MissingMetadata state={state} />}
    </div>
  );
}

/** Filters for what still needs a description, a domain or an owner. */
function MissingMetadata({ state }: { readonly state: SearchState }) {
  const [, navigate] = useLocation();
  const id = useId();
  return (
    <fieldset className="facet">
      <legend>{texts.search.missing.heading}</legend>
      {MISSING_FILTERS.map(({ field, value }) => (
        <label
          key={`${field} ${value}`}
          className="facet-value"
          htmlFor={`${id}-${field}-${value}`}
        >
          <input
            id={`${id}-${field}-${value}`}
            type="checkbox"
            checked={(state.filters[field] ?? []).includes(value)}
            onChange={() => navigate(toggleFilter(state, field, value), { state: SAME_PAGE })}
          />
          <span className="facet-name">{texts.search.missing.names[value]}</span>
        </label>
      ))}
    </fieldset>
  );
}

function FacetGroup({
  facet,
  state,
}: {
  readonly facet: FacetFragment;
  readonly state: SearchState;
}) {
  const [isExpanded, setExpanded] = useState(false);
  const [, navigate] = useLocation();
  const id = useId();
  const selected = state.filters[facet.field] ?? [];
  const values = facet.aggregations.filter(
    (value, index) => isExpanded || index < VISIBLE_VALUES || selected.includes(value.value),
  );
  const hidden = facet.aggregations.length - values.length;
  return (
    <fieldset className="facet">
      <legend>{texts.search.facets[facet.field] ?? facet.displayName ?? facet.field}</legend>
      {values.map((value) => (
        <label key={value.value} className="facet-value" htmlFor={`${id}-${value.value}`}>
          <input
            id={`${id}-${value.value}`}
            type="checkbox"
            checked={selected.includes(value.value)}
            onChange={() =>
              navigate(toggleFilter(state, facet.field, value.value), { state: SAME_PAGE })
            }
          />
          <span dir="auto" className="facet-name">
            {valueName(facet.field, value)}
          </span>
          <span className="number">{texts.number(value.count)}</span>
        </label>
      ))}
      {isExpanded && facet.aggregations.length >= MAX_VALUES && (
        <p className="hint">{texts.search.topValues(MAX_VALUES)}</p>
      )}
      {(hidden > 0 || isExpanded) && (
        <button type="button" className="subtle" onClick={() => setExpanded(!isExpanded)}>
          {isExpanded ? texts.search.fewer : texts.search.more(hidden)}
        </button>
      )}
    </fieldset>
  );
}

function valueName(field: string, value: Value): string {
  if (field === "_entityType") return texts.entityTypes[value.value]?.many ?? value.value;
  if (value.entity !== null && value.entity !== undefined) return nameOf(value.entity);
  return value.value.startsWith("urn:li:") ? urnId(value.value) : value.value;
}

/** The active filters, each with a button to remove it. */
export function ActiveFilters({
  facets,
  state,
}: {
  readonly facets: readonly FacetFragment[];
  readonly state: SearchState;
}) {
  const nameOfValue = (field: string, value: string) => {
    const listed = facets
      .find((facet) => facet.field === field)
      ?.aggregations.find((candidate) => candidate.value === value);
    return listed === undefined ? undefined : valueName(field, listed);
  };
  return Object.entries(state.filters).flatMap(([field, values]) =>
    values.map((value) => {
      const key = `${field} ${value}`;
      const filter = { state, field, value };
      if (field === SAVED_SEARCH) return <SavedSearchChip key={key} {...filter} />;
      if (field === "hasDescription") {
        const name =
          value === "true" ? texts.search.documented : (texts.search.missing.names[value] ?? value);
        return <FilterChip key={key} {...filter} name={name} />;
      }
      if (field === MISSING)
        return (
          <FilterChip key={key} {...filter} name={texts.search.missing.names[value] ?? value} />
        );
      if (field !== "domains" && field !== DOMAIN_SUBTREE) {
        const name = nameOfValue(field, value);
        if (name === undefined && value.startsWith("urn:li:"))
          return <EntityChip key={key} {...filter} />;
        return <FilterChip key={key} {...filter} name={name ?? value} />;
      }
      const name = nameOfValue("domains", value);
      return name === undefined ? (
        <DomainChip key={key} {...filter} />
      ) : (
        <FilterChip key={key} {...filter} name={domainFilterName(field, name)} />
      );
    }),
  );
}

interface ActiveFilter {
  readonly state: SearchState;
  readonly field: string;
  readonly value: string;
}

function FilterChip({ state, field, value, name }: ActiveFilter & { readonly name: string }) {
  const [, navigate] = useLocation();
  return (
    <button
      type="button"
      className="chip"
      aria-label={texts.search.remove(name)}
      onClick={() => navigate(toggleFilter(state, field, value), { state: SAME_PAGE })}
    >
      {name} <span aria-hidden="true">✕</span>
    </button>
  );
}

const domainFilterName = (field: string, name: string) =>
  field === DOMAIN_SUBTREE ? texts.search.includingSubdomains(name) : name;

/** An entity that is not among the facet values. */
function EntityChip(filter: ActiveFilter) {
  const read = useApiQuery(EntityNamesDocument, { urns: [filter.value] });
  const entity = read.data?.entities?.[0];
  return <FilterChip {...filter} name={entity ? nameOf(entity) : urnId(filter.value)} />;
}

function SavedSearchChip(filter: ActiveFilter) {
  const views = useApiQuery(SavedSearchesDocument, {}).data?.listMyViews?.views;
  const view = views?.find(({ urn }) => urn === filter.value);
  return <FilterChip {...filter} name={view?.name ?? texts.saved.one} />;
}

/** A domain that is not among the facet values: its name comes from the hierarchy. */
function DomainChip(filter: ActiveFilter) {
  const { hierarchy } = useDomainHierarchy();
  const name = hierarchy?.byUrn.get(filter.value)?.name ?? urnId(filter.value);
  return <FilterChip {...filter} name={domainFilterName(filter.field, name)} />;
}
