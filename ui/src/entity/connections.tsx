// What dashboards, charts, pipelines and tasks are connected to: their parts, inputs and outputs.

import { useState } from "react";

import { useApiQuery } from "../api/cache.ts";
import { EntityLink } from "../components/common.tsx";
import { LoadingOrError, StaleNotice, type ReadState } from "../components/states.tsx";
import {
  ConnectedDocument,
  DashboardDatasetsDocument,
  type EntityNameFragment,
  type RelationshipDirection,
} from "../generated/operations.ts";
import { contextOf } from "../names.ts";
import { platformTexts } from "../platform_texts.ts";
import { texts } from "../texts.ts";

const PAGE_SIZE = 50;

interface Connection {
  readonly heading: string;
  /** Shown instead of an empty list; without it, the whole section is left out. */
  readonly none?: string;
  readonly relationship: string;
  readonly direction: RelationshipDirection;
  /** The types of the other entities; all if it is left out. */
  readonly others?: readonly string[];
}

/** Lineage of columns has the same relationships as that of datasets. */
const DATA = ["dataset"];

const words = platformTexts.connections;

/** The sections of each entity type, most useful first. */
const CONNECTIONS: Readonly<Record<string, readonly Connection[]>> = {
  DASHBOARD: [
    {
      heading: words.charts,
      none: words.noCharts,
      relationship: "Contains",
      direction: "OUTGOING",
    },
    {
      heading: words.dashboards,
      relationship: "DashboardContainsDashboard",
      direction: "OUTGOING",
    },
  ],
  CHART: [
    {
      heading: words.inputs,
      none: words.noInputs,
      relationship: "Consumes",
      direction: "OUTGOING",
      others: DATA,
    },
    {
      heading: words.usedBy,
      none: words.noUsedBy,
      relationship: "Contains",
      direction: "INCOMING",
    },
  ],
  DATA_FLOW: [
    { heading: words.tasks, none: words.noTasks, relationship: "IsPartOf", direction: "INCOMING" },
  ],
  DATA_JOB: [
    {
      heading: words.inputs,
      none: words.noInputs,
      relationship: "Consumes",
      direction: "OUTGOING",
      others: DATA,
    },
    {
      heading: words.outputs,
      none: words.noOutputs,
      relationship: "Produces",
      direction: "OUTGOING",
      others: DATA,
    },
    { heading: words.after, relationship: "DownstreamOf", direction: "OUTGOING" },
  ],
};

export function Connections({ urn, type }: { readonly urn: string; readonly type: string }) {
  return (
    <>
      {(CONNECTIONS[type] ?? []).map((connection) => (
        <Connected key={connection.heading} urn={urn} connection={connection} />
      ))}
      {type === "DASHBOARD" && <DatasetsOfDashboard urn={urn} />}
    </>
  );
}

function Connected({ urn, connection }: { readonly urn: string; readonly connection: Connection }) {
  const [shown, setShown] = useState(PAGE_SIZE);
  const { heading, none, relationship, direction } = connection;
  const read = useApiQuery(
    ConnectedDocument,
    { urn, types: [relationship], direction, others: connection.others ?? null, count: shown },
    { keepPrevious: true },
  );
  const entity = read.data?.entity;
  const found =
    entity !== null && entity !== undefined && "relationships" in entity
      ? entity.relationships
      : undefined;
  const total = found?.total ?? 0;
  const others = (found?.relationships ?? []).flatMap(({ entity: other }) =>
    other === null || other === undefined ? [] : [other],
  );
  const isEmpty = read.data !== undefined && total === 0;
  if (none === undefined && (isEmpty || read.data === undefined))
    return <StaleNotice read={read} />;
  return (
    <OtherEntities
      id={`connected-${relationship}-${direction}`}
      heading={heading}
      none={none}
      read={read}
      isLoaded={read.data !== undefined}
      total={total}
      others={others}
      onMore={() => setShown(shown + PAGE_SIZE)}
    />
  );
}

/** The datasets that a dashboard reads, itself or through its charts. */
function DatasetsOfDashboard({ urn }: { readonly urn: string }) {
  const [shown, setShown] = useState(PAGE_SIZE);
  const read = useApiQuery(
    DashboardDatasetsDocument,
    { urn, count: shown },
    { keepPrevious: true },
  );
  const found = read.data?.searchAcrossLineage;
  return (
    <OtherEntities
      id="connected-datasets"
      heading={words.reads}
      none={words.noReads}
      read={read}
      isLoaded={read.data !== undefined}
      total={found?.total ?? 0}
      others={(found?.searchResults ?? []).map(({ entity }) => entity)}
      onMore={() => setShown(shown + PAGE_SIZE)}
    />
  );
}

function OtherEntities({
  id,
  heading,
  none,
  read,
  isLoaded,
  total,
  others,
  onMore,
}: {
  readonly id: string;
  readonly heading: string;
  readonly none: string | undefined;
  readonly read: ReadState;
  readonly isLoaded: boolean;
  readonly total: number;
  readonly others: readonly EntityNameFragment[];
  readonly onMore: () => void;
}) {
  return (
    <section className="section" aria-labelledby={id}>
      <div className="section-header">
        <h2 id={id}>{heading}</h2>
        {total > 0 && <span className="hint">{texts.number(total)}</span>}
      </div>
      <StaleNotice read={read} />
      {!isLoaded && <LoadingOrError read={read} lines={2} />}
      {isLoaded && total === 0 && <p className="hint">{none}</p>}
      <ul className="row-list">
        {others.map((other) => (
          <li key={other.urn}>
            <EntityLink entity={other} />
            <span className="hint">{contextOf(other)}</span>
          </li>
        ))}
      </ul>
      {total > others.length && (
        <p className="hint" role="status">
          {platformTexts.cut(others.length, total)}{" "}
          <button type="button" className="subtle" onClick={onMore}>
            {platformTexts.showMore}
          </button>
        </p>
      )}
    </section>
  );
}
