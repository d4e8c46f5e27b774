// The lineage of an entity: a graph, the same as a list, and everything it affects.

import "../styles/lineage.css";

import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from "react";

import { useApiQuery } from "../api/cache.ts";
import { EmptyState, LoadingOrError, Skeleton, StaleNotice } from "../components/states.tsx";
import {
  LineageColumnsDocument,
  LineagePathsDocument,
  LineageSubjectDocument,
  type LineageColumnsQuery,
} from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { lineageTexts } from "../lineage_texts.ts";
import { aboutOf, type About } from "./about.ts";
import { Canvas } from "./canvas.tsx";
import { columnGraph } from "./column_graph.ts";
import { Details } from "./details.tsx";
import { EditLineage } from "./edit.tsx";
import { useExpandedGraph } from "./expansion.ts";
import { graphOfPaths, type Graph } from "./graph.ts";
import { Impact } from "./impact.tsx";
import { LineageList } from "./list.tsx";
import { useLineageEntities, type LineageEntity, type Period } from "./loading.ts";
import { ColumnNotice, CutNotices, PathNotice } from "./notices.tsx";
import { pathsOf } from "./paths.ts";
import { periodOf, useLineageState, type View } from "./state.ts";
import { Finder, Toolbar } from "./toolbar.tsx";

/** Below this width the list is the first view. */
const NARROW = "(max-width: 45rem)";
/** The most columns that a trace shows in each direction. */
const MAX_COLUMNS = 500;

const narrow = window.matchMedia(NARROW);
function subscribeToWidth(listener: () => void) {
  narrow.addEventListener("change", listener);
  return () => narrow.removeEventListener("change", listener);
}

export default function Lineage({ urn }: { readonly urn: string }) {
  const { state, change } = useLineageState();
  const isNarrow = useSyncExternalStore(subscribeToWidth, () => narrow.matches);
  const view: View = state.view ?? (isNarrow ? "list" : "graph");
  const subject = useApiQuery(LineageSubjectDocument, { urn });
  const period = periodOf(state);
  const entity = subject.data?.entity;
  if (subject.isPending || entity === null || entity === undefined)
    return <LoadingOrError read={subject} lines={8} />;
  const privileges = "privileges" in entity ? entity.privileges : undefined;
  return (
    <section className="lineage" aria-labelledby="lineage-heading">
      <h2 id="lineage-heading" className="visually-hidden">
        {lineageTexts.heading}
      </h2>
      <StaleNotice read={subject} />
      <Toolbar
        state={state}
        view={view}
        columns={
          "schemaMetadata" in entity
            ? (entity.schemaMetadata?.fields ?? []).map(({ fieldPath }) => fieldPath)
            : []
        }
        urn={urn}
        name={nameOf(entity)}
        change={change}
      >
        {privileges?.canEditLineage === true && (
          <EditLineage urn={urn} type={entity.type} name={nameOf(entity)} />
        )}
      </Toolbar>
      {view === "impact" ? (
        <Impact urn={urn} name={nameOf(entity)} period={period} />
      ) : (
        <Explorer urn={urn} name={nameOf(entity)} period={period} isList={view === "list"} />
      )}
    </section>
  );
}

interface ExplorerProperties {
  readonly urn: string;
  readonly name: string;
  readonly period: Period;
  readonly isList: boolean;
}

/** The graph and the list, of the surroundings, of paths or of a column. */
function Explorer({ urn, name, period, isList }: ExplorerProperties) {
  const { state, change } = useLineageState();
  const { entities, neighbors, isLoading, read, request, requestAll } = useLineageEntities(period);
  const expanded = useExpandedGraph({
    start: urn,
    steps: state.steps,
    neighbors,
    request,
    requestAll,
  });
  const trace = useTrace(state.column, period);
  const path = usePaths(state.to === null ? null : (state.from ?? urn), state.to, period);
  const special: Graph | undefined = trace.graph ?? path.graph;
  const graph = special ?? expanded.graph;
  const start = special !== undefined && !special.nodes.has(urn) ? firstOf(special) : urn;
  const about = useAbout(entities);
  useRequest(special, request);

  const [selected, setSelected] = useState<string | null>(null);
  const [current, setCurrent] = useState(start);
  const [query, setQuery] = useState("");
  const matches = useMemo(() => matchesIn(graph, about, query), [graph, about, query]);
  const traceColumn = useCallback((column: string) => change({ column, to: null }), [change]);
  const show = (target: string) => {
    setCurrent(target);
    setSelected(target);
  };

  if (read.error !== null && !neighbors.has(urn)) return <LoadingOrError read={read} />;
  if (!neighbors.has(urn)) return <Skeleton lines={8} />;
  if (trace.isPending || path.isPending) return <Skeleton lines={8} />;
  const isSpecial = state.column !== null || state.to !== null;
  if (!isSpecial && graph.nodes.size === 1 && !isLoading && isEmpty(urn, expanded)) {
    const isFiltered = period.start !== null || period.end !== null;
    return isFiltered ? (
      <EmptyState title={lineageTexts.noneInPeriod} />
    ) : (
      <EmptyState title={lineageTexts.none} hint={lineageTexts.noneHint} />
    );
  }
  const label = lineageTexts.graphLabel(name);
  return (
    <>
      <StaleNotice read={read} />
      {state.column !== null && (
        <ColumnNotice column={state.column} about={about} trace={trace} change={change} />
      )}
      {state.column === null && state.to !== null && (
        <PathNotice
          from={about(state.from ?? urn).name}
          to={about(state.to).name}
          read={path.read}
          isFound={path.graph !== undefined}
          change={change}
        />
      )}
      {(special !== undefined || !isSpecial) && (
        <>
          <Finder
            query={query}
            onQuery={setQuery}
            matches={matches}
            current={current}
            onShow={show}
            shown={graph.nodes.size}
            isLoading={isLoading}
          />
          {isList ? (
            <LineageList
              graph={graph}
              start={start}
              about={about}
              matches={matches}
              columns={trace.columns}
              expanders={special === undefined ? expanded.expanders : undefined}
              onExpand={expanded.expand}
            />
          ) : (
            <div className="lineage-frame">
              <Canvas
                key={`${state.column} ${state.from} ${state.to}`}
                label={label}
                graph={graph}
                start={start}
                columns={trace.columns}
                tracedColumn={state.column}
                about={about}
                selected={selected}
                current={current}
                onCurrent={setCurrent}
                onSelect={setSelected}
                matches={matches}
                expanders={special === undefined ? expanded.expanders : undefined}
                onExpand={expanded.expand}
                onTrace={traceColumn}
              />
              {selected !== null && graph.nodes.has(selected) && (
                <Details
                  about={about(selected)}
                  neighbors={neighbors.get(selected)}
                  start={{ urn, name }}
                  change={change}
                  onClose={() => setSelected(null)}
                />
              )}
            </div>
          )}
          <CutNotices graph={graph} about={about} change={change} onExpand={expanded.expand} />
        </>
      )}
    </>
  );
}

const firstOf = (graph: Graph) => graph.nodes.keys().next().value ?? "";

/** Whether the entity has no neighbors at all, shown or hidden. */
function isEmpty(urn: string, { expanders }: ReturnType<typeof useExpandedGraph>): boolean {
  const own = expanders.get(urn);
  return own === undefined || (own.upstream.hidden === 0 && own.downstream.hidden === 0);
}

/** What to show of each entity, computed once. */
function useAbout(entities: ReadonlyMap<string, LineageEntity>): (urn: string) => About {
  return useMemo(() => {
    const known = new Map<string, About>();
    return (urn: string) => {
      const found = known.get(urn) ?? aboutOf(urn, entities.get(urn));
      known.set(urn, found);
      return found;
    };
  }, [entities]);
}

/** Reads the entities of a graph that is not expanded step by step. */
function useRequest(graph: Graph | undefined, request: (urns: readonly string[]) => void) {
  useEffect(() => {
    if (graph !== undefined) request([...graph.nodes.keys()]);
  }, [graph, request]);
}

function matchesIn(graph: Graph, about: (urn: string) => About, query: string) {
  const words = query.trim().toLocaleLowerCase();
  if (words === "") return undefined;
  const urns = [...graph.nodes.keys()];
  return new Set(
    urns.filter((urn) => {
      const { name, location, kind, platform } = about(urn);
      const text = `${name} ${location} ${kind} ${platform} ${urn}`;
      return text.toLocaleLowerCase().includes(words);
    }),
  );
}

export interface Trace {
  readonly isPending: boolean;
  readonly read: ReturnType<typeof useApiQuery<LineageColumnsQuery, unknown>>;
  readonly graph: Graph | undefined;
  readonly columns: ReturnType<typeof columnGraph>["columns"] | undefined;
  /** Columns in the trace, and those known to the server. */
  readonly shown: number;
  readonly total: number;
}

/** The tables and columns that a column is connected with. */
function useTrace(column: string | null, period: Period): Trace {
  const read = useApiQuery(
    LineageColumnsDocument,
    {
      column: column ?? "",
      count: MAX_COLUMNS,
      flags: flagsOf(period),
    },
    { enabled: column !== null },
  );
  const found = useMemo(
    () => (column === null || read.data === undefined ? undefined : columnGraph(column, read.data)),
    [column, read.data],
  );
  return {
    isPending: column !== null && read.isPending,
    read,
    graph: found?.graph,
    columns: found?.columns,
    shown: found?.shown ?? 0,
    total: found?.total ?? 0,
  };
}

const flagsOf = ({ start, end }: Period) => ({ startTimeMillis: start, endTimeMillis: end });

/** The shortest paths between two entities in a period; no graph if there are none. */
function usePaths(from: string | null, to: string | null, period: Period) {
  const isRequested = from !== null && to !== null;
  const read = useApiQuery(
    LineagePathsDocument,
    { from: from ?? "", to: [to ?? ""], flags: flagsOf(period) },
    { enabled: isRequested },
  );
  const graph = useMemo(() => {
    if (from === null || read.data === undefined) return undefined;
    const down = pathsOf(read.data.downstream);
    const up = pathsOf(read.data.upstream).map((path) => path.toReversed());
    const paths = [...down, ...up];
    return paths.length === 0 ? undefined : graphOfPaths(paths, from);
  }, [from, read.data]);
  return { isPending: isRequested && read.isPending, read, graph };
}
