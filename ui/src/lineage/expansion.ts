// What the user has expanded in a lineage graph.

import { useCallback, useEffect, useMemo, useState } from "react";

import type { Expander, Expanders } from "./card.tsx";
import {
  FIRST_NEIGHBORS,
  expandedGraph,
  expansionKey,
  type Direction,
  type Expansions,
  type Graph,
  type Neighbors,
} from "./graph.ts";
import { MAX_NEIGHBORS } from "./loading.ts";

/** Neighbors that each further expansion of the same card shows. */
const NEIGHBORS_SHOWN = [FIRST_NEIGHBORS, 200, MAX_NEIGHBORS];

interface Input {
  readonly start: string;
  readonly steps: number;
  readonly neighbors: ReadonlyMap<string, Neighbors>;
  readonly request: (urns: readonly string[]) => void;
  readonly requestAll: (urn: string) => void;
}

/** The graph around an entity; reads what it needs. */
export function useExpandedGraph({ start, steps, neighbors, request, requestAll }: Input) {
  const [expansions, setExpansions] = useState<Expansions>(new Map());
  const graph = useMemo(
    () => expandedGraph({ start, neighbors, expansions, steps }),
    [start, neighbors, expansions, steps],
  );
  const expanders = useMemo(() => expandersOf(graph, neighbors), [graph, neighbors]);
  useEffect(() => request(graph.unknown), [graph, request]);

  /** Shows more neighbors of an entity, or hides them if all are shown. */
  const expand = useCallback(
    (urn: string, direction: Direction) => {
      const list = neighbors.get(urn)?.[direction];
      const expander = expanders.get(urn)?.[direction];
      if (list === undefined || expander === undefined) return;
      const limit = graph.expanded.get(expansionKey(urn, direction)) ?? 0;
      const more = NEIGHBORS_SHOWN.find((number) => number > limit) ?? MAX_NEIGHBORS;
      const next = expander.hidden === 0 ? 0 : more;
      if (next > list.items.length && list.items.length < list.total) requestAll(urn);
      setExpansions((current) => new Map(current).set(expansionKey(urn, direction), next));
    },
    [graph, neighbors, expanders, requestAll],
  );
  return { graph, expanders, expand };
}

function expandersOf(
  graph: Graph,
  neighbors: ReadonlyMap<string, Neighbors>,
): ReadonlyMap<string, Expanders> {
  const of = (urn: string, direction: Direction): Expander => {
    const { total, items } = neighbors.get(urn)?.[direction] ?? { total: 0, items: [] };
    const shown = items.filter((neighbor) => graph.nodes.has(neighbor.urn)).length;
    const isExpanded = graph.expanded.has(expansionKey(urn, direction));
    return { hidden: total - shown, isExpanded };
  };
  return new Map(
    [...graph.nodes.keys()].map((urn) => [
      urn,
      { upstream: of(urn, "upstream"), downstream: of(urn, "downstream") },
    ]),
  );
}
