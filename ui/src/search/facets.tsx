import { useId, useState } from "react";
import { useLocation } from "wouter";

import { STAYS } from "../addresses.ts";
import { useForest } from "../forest.ts";
import type { FacetFragment } from "../generated/operations.ts";
import { lastPart, nameOf } from "../names.ts";
import { texts } from "../texts.ts";
import { BELOW_DOMAIN, toggled, type SearchState } from "./state.ts";

type Value = FacetFragment["aggregations"][number];

const SHOWN = 6;
/** How many values the server lists (`maxAggValues` of the search). */
const MOST_VALUES = 50;

/** Fields to narrow by, in the order in which people think of them. */
export const ORDER: readonly string[] = [
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

export function Facets({ facets, state }: { readonly facets: readonly FacetFragment[]; readonly state: SearchState }) {
  const shown = ORDER.flatMap((field) => facets.filter((facet) => facet.field === field)).filter(
    (facet) => facet.aggregations.length > 1 || (state.filters[facet.field] ?? []).length > 0,
  );
  return (
    <div className="facets">
      {shown.map((facet) => (
        <FacetGroup key={facet.field} facet={facet} state={state} />
      ))}
    </div>
  );
}

function FacetGroup({ facet, state }: { readonly facet: FacetFragment; readonly state: SearchState }) {
  const [isWhole, setWhole] = useState(false);
  const [, navigate] = useLocation();
  const id = useId();
  const chosen = state.filters[facet.field] ?? [];
  const values = facet.aggregations.filter((value, place) => isWhole || place < SHOWN || chosen.includes(value.value));
  const hidden = facet.aggregations.length - values.length;
  return (
    <fieldset className="facet">
      <legend>{texts.search.facets[facet.field] ?? facet.displayName ?? facet.field}</legend>
      {values.map((value) => (
        <label key={value.value} className="facet-value" htmlFor={`${id}-${value.value}`}>
          <input
            id={`${id}-${value.value}`}
            type="checkbox"
            checked={chosen.includes(value.value)}
            onChange={() => navigate(toggled(state, facet.field, value.value), { state: STAYS })}
          />
          <span className="facet-name">{valueName(facet.field, value)}</span>
          <span className="number">{texts.number(value.count)}</span>
        </label>
      ))}
      {isWhole && facet.aggregations.length >= MOST_VALUES && (
        <p className="hint">{texts.search.mostFrequent(MOST_VALUES)}</p>
      )}
      {(hidden > 0 || isWhole) && (
        <button type="button" className="quiet" onClick={() => setWhole(!isWhole)}>
          {isWhole ? texts.search.fewer : texts.search.more(hidden)}
        </button>
      )}
    </fieldset>
  );
}

function valueName(field: string, value: Value): string {
  if (field === "_entityType") return texts.kinds[value.value]?.many ?? value.value;
  if (value.entity !== null && value.entity !== undefined) return nameOf(value.entity);
  return value.value.startsWith("urn:li:") ? lastPart(value.value) : value.value;
}

/** The chosen filters in a row, each with a way to take it back. */
export function Chosen({ facets, state }: { readonly facets: readonly FacetFragment[]; readonly state: SearchState }) {
  const known = (field: string, value: string) => {
    const listed = facets.find((facet) => facet.field === field)?.aggregations.find((one) => one.value === value);
    return listed === undefined ? undefined : valueName(field, listed);
  };
  return Object.entries(state.filters).flatMap(([field, values]) =>
    values.map((value) => {
      const key = `${field} ${value}`;
      const filter = { state, field, value };
      if (field === "hasDescription") {
        const name = value === "true" ? texts.search.documented : texts.search.undocumented;
        return <Chip key={key} {...filter} name={name} />;
      }
      if (field !== "domains" && field !== BELOW_DOMAIN) {
        return <Chip key={key} {...filter} name={known(field, value) ?? lastPart(value)} />;
      }
      const name = known("domains", value);
      return name === undefined ? (
        <DomainChip key={key} {...filter} />
      ) : (
        <Chip key={key} {...filter} name={domainFilterName(field, name)} />
      );
    }),
  );
}

interface ChosenFilter {
  readonly state: SearchState;
  readonly field: string;
  readonly value: string;
}

function Chip({ state, field, value, name }: ChosenFilter & { readonly name: string }) {
  const [, navigate] = useLocation();
  return (
    <button
      type="button"
      className="chip"
      aria-label={texts.search.remove(name)}
      onClick={() => navigate(toggled(state, field, value), { state: STAYS })}
    >
      {name} <span aria-hidden="true">✕</span>
    </button>
  );
}

const domainFilterName = (field: string, name: string) =>
  field === BELOW_DOMAIN ? texts.search.withBelow(name) : name;

/** A domain that is not among the values of the facet: its name is found in the tree. */
function DomainChip(filter: ChosenFilter) {
  const { forest } = useForest();
  const name = forest?.byUrn.get(filter.value)?.name ?? lastPart(filter.value);
  return <Chip {...filter} name={domainFilterName(filter.field, name)} />;
}
