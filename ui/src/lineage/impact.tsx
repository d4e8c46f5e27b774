import { useMutation } from "@tanstack/react-query";
import { Fragment, useId, useState } from "react";

import { formatFile, saveFile } from "../components/csv.ts";
import { useApiQuery } from "../api/cache.ts";
import { run } from "../api/client.ts";
import { EntityLink } from "../components/common.tsx";
import { EmptyState, ErrorMessage, LoadingOrError, StaleNotice } from "../components/states.tsx";
import { TableScroll } from "../components/table_scroll.tsx";
import {
  LineageImpactDocument,
  type EntityType,
  type LineageImpactQuery,
  type LineageImpactQueryVariables,
} from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { lineageTexts } from "../lineage_texts.ts";
import { texts } from "../texts.ts";
import { aboutOf, type About } from "./about.ts";
import { DIRECTIONS, type Direction } from "./graph.ts";
import type { Period } from "./loading.ts";

const PAGE = 100;
/** The most entities that the server finds. */
const MAX_ENTITIES = 10_000;
const MAX_COUNTS = 8;

type Results = NonNullable<LineageImpactQuery["searchAcrossLineage"]>;
type Facet = NonNullable<Results["facets"]>[number];

interface ImpactProperties {
  readonly urn: string;
  readonly name: string;
  readonly period: Period;
}

/** Everything upstream or downstream of an entity, counted and listed. */
export function Impact({ urn, name, period }: ImpactProperties) {
  const words = lineageTexts.impact;
  const [direction, setDirection] = useState<Direction>("downstream");
  const [text, setText] = useState("");
  const [degree, setDegree] = useState("");
  const [kind, setKind] = useState<EntityType | "">("");
  const [count, setCount] = useState(PAGE);
  const variables: LineageImpactQueryVariables = {
    urn,
    direction: direction === "upstream" ? "UPSTREAM" : "DOWNSTREAM",
    query: text.trim() === "" ? "*" : text.trim(),
    types: kind === "" ? null : [kind],
    filters: degree === "" ? null : [{ and: [{ field: "degree", values: [degree] }] }],
    flags: { startTimeMillis: period.start, endTimeMillis: period.end },
    count,
  };
  const read = useApiQuery(LineageImpactDocument, variables, { keepPrevious: true });
  // The kinds to choose from, whatever is chosen.
  const whole = useApiQuery(
    LineageImpactDocument,
    { ...variables, query: "*", types: null, filters: null, count: 0 },
    { keepPrevious: true },
  );
  const isFiltered = text.trim() !== "" || degree !== "" || kind !== "";
  const kinds = facetOf(whole.data?.searchAcrossLineage?.facets, "_entityType");
  const results = read.data?.searchAcrossLineage;
  return (
    <>
      <div className="lineage-toolbar">
        <label>
          {words.direction}
          <select
            value={direction}
            onChange={(event) => {
              setDirection(event.currentTarget.value === "upstream" ? "upstream" : "downstream");
              setCount(PAGE);
            }}
          >
            {DIRECTIONS.toReversed().map((name) => (
              <option key={name} value={name}>
                {lineageTexts[name]}
              </option>
            ))}
          </select>
        </label>
        <label>
          {words.degree}
          <select value={degree} onChange={(event) => setDegree(event.currentTarget.value)}>
            <option value="">{words.anyDegree}</option>
            {Object.entries(words.degrees).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <label>
          {words.kind}
          <select
            value={kind}
            onChange={(event) => setKind(event.currentTarget.value as EntityType | "")}
          >
            <option value="">{words.anyKind}</option>
            {kinds.map(({ value }) => (
              <option key={value} value={value}>
                {texts.entityTypes[value]?.many ?? value}
              </option>
            ))}
          </select>
        </label>
        <input
          type="search"
          aria-label={words.filter}
          placeholder={words.filter}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </div>
      <StaleNotice read={read} />
      {results === null || results === undefined ? (
        <LoadingOrError read={read} lines={8} />
      ) : results.total === 0 ? (
        <EmptyState title={isFiltered ? words.noneFiltered : words.none[direction]} />
      ) : (
        <div aria-busy={read.isPlaceholderData}>
          <Summary results={results} direction={direction} onPickKind={setKind} />
          <Export name={name} direction={direction} variables={variables} />
          <ImpactTable results={results} />
          <p className="hint" role="status">
            {words.shown(results.searchResults.length, results.total)}
          </p>
          {results.searchResults.length < Math.min(results.total, MAX_ENTITIES) && (
            <button type="button" onClick={() => setCount(count + 5 * PAGE)}>
              {words.more}
            </button>
          )}
        </div>
      )}
    </>
  );
}

const facetOf = (facets: Results["facets"] | undefined, field: string): Facet["aggregations"] =>
  facets?.find((facet) => facet.field === field)?.aggregations ?? [];

/** How many entities there are of each kind, owner and domain. */
function Summary({
  results,
  direction,
  onPickKind,
}: {
  readonly results: Results;
  readonly direction: Direction;
  readonly onPickKind: (kind: EntityType) => void;
}) {
  const words = lineageTexts.impact;
  const facet = (field: string) => facetOf(results.facets, field);
  return (
    <>
      <p>
        <strong>{words.total(results.total, direction)}</strong>
      </p>
      {results.isPartial === true && <p className="notice">{words.partial}</p>}
      <div className="lineage-counts">
        <Counts heading={words.byKind} values={facet("_entityType")} onPick={onPickKind} />
        <Counts heading={words.byOwner} values={facet("owners")} />
        <Counts heading={words.byDomain} values={facet("domains")} />
      </div>
    </>
  );
}

function Counts({
  heading,
  values,
  onPick,
}: {
  readonly heading: string;
  readonly values: Facet["aggregations"];
  /** Filters by a kind. Owners and domains are links to their pages. */
  readonly onPick?: (kind: EntityType) => void;
}) {
  const id = useId();
  if (values.length === 0) return null;
  const sorted = values.toSorted((one, other) => other.count - one.count);
  return (
    <section aria-labelledby={id}>
      <h3 id={id}>{heading}</h3>
      <ul>
        {sorted.slice(0, MAX_COUNTS).map(({ value, count, entity }) => (
          <li key={value}>
            {entity !== null && entity !== undefined ? (
              <EntityLink entity={entity} />
            ) : onPick === undefined ? (
              value
            ) : (
              <button type="button" className="subtle" onClick={() => onPick(value as EntityType)}>
                {texts.entityTypes[value]?.[count === 1 ? "one" : "many"] ?? value}
              </button>
            )}{" "}
            <span className="number">{texts.number(count)}</span>
          </li>
        ))}
        {sorted.length > MAX_COUNTS && (
          <li className="hint">{lineageTexts.list.more(sorted.length - MAX_COUNTS)}</li>
        )}
      </ul>
    </section>
  );
}

function ImpactTable({ results }: { readonly results: Results }) {
  const words = lineageTexts.impact;
  return (
    <TableScroll className="lineage-table">
      <table>
        <caption className="visually-hidden">{words.caption}</caption>
        <thead>
          <tr>
            <th scope="col">{words.name}</th>
            <th scope="col">{words.kind}</th>
            <th scope="col">{words.platform}</th>
            <th scope="col" className="number">
              {words.degree}
            </th>
            <th scope="col">{words.owners}</th>
            <th scope="col">{words.domain}</th>
          </tr>
        </thead>
        <tbody>
          {results.searchResults.map(({ entity, degree }) => {
            const about = aboutOf(entity.urn, entity);
            return (
              <tr key={entity.urn}>
                <th scope="row">
                  <EntityLink entity={{ urn: about.urn, name: about.name }} />
                  {about.location !== "" && <span className="hint"> {about.location}</span>}
                  {about.isDeprecated && (
                    <span className="warning"> {texts.dataset.deprecated}</span>
                  )}
                </th>
                <td>{about.kind}</td>
                <td>{about.platform}</td>
                <td className="number">{texts.number(degree)}</td>
                <td>
                  {about.owners.map((owner, index) => (
                    <Fragment key={owner.urn}>
                      {index > 0 && ", "}
                      <EntityLink entity={owner} />
                    </Fragment>
                  ))}
                </td>
                <td>{about.domain !== undefined && <EntityLink entity={about.domain} />}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </TableScroll>
  );
}

/** Saves all results as a file, not only the shown ones. */
function Export({
  name,
  direction,
  variables,
}: {
  readonly name: string;
  readonly direction: Direction;
  readonly variables: LineageImpactQueryVariables;
}) {
  const words = lineageTexts.impact;
  const save = useMutation({
    mutationFn: () => run(LineageImpactDocument, { ...variables, count: MAX_ENTITIES }),
    onSuccess: ({ searchAcrossLineage }) => {
      const rows = (searchAcrossLineage?.searchResults ?? []).map(({ entity, degree }) =>
        rowOf(aboutOf(entity.urn, entity), degree),
      );
      const { urn, name: label, kind, platform, degree, owners, domain, deprecated } = words;
      const heading = [urn, label, kind, platform, degree, owners, domain, deprecated];
      saveFile(words.file(name, lineageTexts[direction]), formatFile([heading, ...rows]));
    },
  });
  return (
    <div className="lineage-export">
      <button type="button" disabled={save.isPending} onClick={() => save.mutate()}>
        {save.isPending ? words.exporting : words.export}
      </button>
      {save.error !== null && <ErrorMessage error={save.error} />}
    </div>
  );
}

const rowOf = (about: About, degree: number): readonly string[] => [
  about.urn,
  about.name,
  about.kind,
  about.platform,
  String(degree),
  about.owners.map(nameOf).join("; "),
  about.domain === undefined ? "" : nameOf(about.domain),
  about.isDeprecated ? lineageTexts.impact.yes : "",
];
