// The columns that a column is connected with, as a graph of their tables.

import type { LineageColumnsQuery } from "../generated/operations.ts";
import { columnOf } from "./about.ts";
import type { ColumnEdges } from "./edges.tsx";
import { graphOfPaths, type Edge, type Graph } from "./graph.ts";
import { pathsOf } from "./paths.ts";

export interface ColumnGraph {
  /** Absent if the column is connected with no other. */
  readonly graph: Graph | undefined;
  readonly columns: ColumnEdges;
  /** Columns other than the traced one, and how many the server knows. */
  readonly shown: number;
  readonly total: number;
}

export function columnGraph(column: string, found: LineageColumnsQuery): ColumnGraph {
  const down = pathsOf(found.downstream);
  const up = pathsOf(found.upstream).map((path) => path.toReversed());
  const paths = [...down, ...up];
  const edges = new Map<string, Edge>();
  const columns = new Map<string, readonly string[]>();
  for (const path of paths) {
    path.forEach((urn, index) => {
      const table = columnOf(urn)?.table ?? urn;
      const known = columns.get(table) ?? [];
      if (columnOf(urn) !== null && !known.includes(urn)) columns.set(table, [...known, urn]);
      const next = path[index + 1];
      if (next !== undefined) edges.set(`${urn} ${next}`, { from: urn, to: next, isManual: false });
    });
  }
  const tableOf = (urn: string) => columnOf(urn)?.table ?? urn;
  const tables = paths.map((path) => path.map(tableOf));
  return {
    graph: paths.length === 0 ? undefined : graphOfPaths(tables, tableOf(column)),
    columns: { edges: [...edges.values()], columns },
    shown: new Set(paths.flat()).size - (paths.length === 0 ? 0 : 1),
    total: (found.downstream?.total ?? 0) + (found.upstream?.total ?? 0),
  };
}
