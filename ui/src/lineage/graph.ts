// Which entities a lineage graph shows, and the edges between them. Knows nothing about the page.
//
// The graph starts at one entity and follows expansions: an entity that is expanded upstream shows
// its first so many upstream neighbors. Entities up to the requested number of steps from the start
// are expanded from the beginning, unless the user collapsed them.

export type Direction = "upstream" | "downstream";
export const DIRECTIONS: readonly Direction[] = ["upstream", "downstream"];
export const opposite = (direction: Direction): Direction =>
  direction === "upstream" ? "downstream" : "upstream";

/** A neighbor of an entity, with what is known about the edge. */
export interface Neighbor {
  readonly urn: string;
  readonly isManual: boolean;
}

/** The neighbors of an entity in one direction. */
export interface NeighborList {
  /** All of them; `items` may be fewer. */
  readonly total: number;
  readonly items: readonly Neighbor[];
}

export type Neighbors = Readonly<Record<Direction, NeighborList>>;

/** What the user has expanded or collapsed: how many neighbors to show, by `expansionKey`. */
export type Expansions = ReadonlyMap<string, number>;
export const expansionKey = (urn: string, direction: Direction) => `${direction} ${urn}`;

export interface Edge {
  /** The upstream end. */
  readonly from: string;
  readonly to: string;
  readonly isManual: boolean;
}

/** An entity whose neighbors are not all shown. */
export interface Cut {
  readonly urn: string;
  readonly direction: Direction;
  readonly shown: number;
  readonly total: number;
}

export interface Graph {
  /** Steps from the start, negative upstream, by URN. */
  readonly nodes: ReadonlyMap<string, number>;
  readonly edges: readonly Edge[];
  readonly cuts: readonly Cut[];
  /** How many neighbors each expanded entity may show, by `expansionKey`. */
  readonly expanded: Expansions;
  /** Shown entities whose neighbors are not known yet. */
  readonly unknown: readonly string[];
  /** Whether there are more entities than a graph may show. */
  readonly isFull: boolean;
}

/** Neighbors that an expansion shows at first. A column of more cards is hard to read. */
export const FIRST_NEIGHBORS = 25;
/** The most entities of a graph. */
export const MAX_NODES = 2_000;

interface GraphInput {
  readonly start: string;
  readonly neighbors: ReadonlyMap<string, Neighbors>;
  readonly expansions: Expansions;
  /** How many steps from the start to expand from the beginning. */
  readonly steps: number;
}

/** The graph around an entity. */
export function expandedGraph({ start, neighbors, expansions, steps }: GraphInput): Graph {
  const nodes = new Map([[start, 0]]);
  const cuts: Cut[] = [];
  const expanded = new Map<string, number>();
  let isFull = false;
  // Reached by steps in one direction only, as what flows in or out; the start is both.
  const straight = new Map<string, ReadonlySet<Direction>>([[start, new Set(DIRECTIONS)]]);
  // A map iterates over entries that are added meanwhile.
  for (const [urn, level] of nodes) {
    const lists = neighbors.get(urn);
    if (lists === undefined) continue;
    for (const direction of DIRECTIONS) {
      const isStraight = straight.get(urn)?.has(direction) === true;
      const key = expansionKey(urn, direction);
      const shown =
        expansions.get(key) ?? (isStraight && Math.abs(level) < steps ? FIRST_NEIGHBORS : 0);
      const { total, items } = lists[direction];
      if (shown > 0 && total > 0) expanded.set(key, shown);
      if (shown < total && shown > 0)
        cuts.push({ urn, direction, shown: Math.min(shown, items.length), total });
      for (const { urn: next } of items.slice(0, shown)) {
        if (nodes.has(next)) continue;
        if (nodes.size >= MAX_NODES) {
          isFull = true;
          break;
        }
        nodes.set(next, level + (direction === "upstream" ? -1 : 1));
        if (isStraight) straight.set(next, new Set([direction]));
      }
    }
  }
  return {
    nodes,
    edges: edgesAmong(nodes, neighbors),
    cuts,
    expanded,
    unknown: [...nodes.keys()].filter((urn) => !neighbors.has(urn)),
    isFull,
  };
}

/** All known edges between these entities, whichever end they were read from. */
export function edgesAmong(
  nodes: ReadonlyMap<string, unknown>,
  neighbors: ReadonlyMap<string, Neighbors>,
): readonly Edge[] {
  const edges = new Map<string, Edge>();
  for (const urn of nodes.keys()) {
    for (const direction of DIRECTIONS) {
      for (const { urn: other, isManual } of neighbors.get(urn)?.[direction].items ?? []) {
        if (!nodes.has(other)) continue;
        const [from, to] = direction === "upstream" ? [other, urn] : [urn, other];
        edges.set(`${from} ${to}`, { from, to, isManual });
      }
    }
  }
  return [...edges.values()];
}

/** The graph of some paths, each from upstream to downstream. */
export function graphOfPaths(paths: ReadonlyArray<readonly string[]>, start: string): Graph {
  const nodes = new Map<string, number>();
  const edges = new Map<string, Edge>();
  for (const path of paths) {
    const origin = Math.max(0, path.indexOf(start));
    path.forEach((urn, index) => {
      if (!nodes.has(urn)) nodes.set(urn, index - origin);
      const next = path[index + 1];
      if (next !== undefined && next !== urn)
        edges.set(`${urn} ${next}`, { from: urn, to: next, isManual: false });
    });
  }
  return {
    nodes,
    edges: [...edges.values()],
    cuts: [],
    expanded: new Map(),
    unknown: [],
    isFull: false,
  };
}

/** The direct neighbors of an entity in a graph. */
export function neighborsIn(graph: Graph, urn: string, direction: Direction): readonly string[] {
  return direction === "upstream"
    ? graph.edges.filter(({ to }) => to === urn).map(({ from }) => from)
    : graph.edges.filter(({ from }) => from === urn).map(({ to }) => to);
}

/** The entities that flow into an entity or that it flows into, itself included. */
export function relatedTo(graph: Graph, urn: string): ReadonlySet<string> {
  const related = new Set([urn]);
  for (const direction of DIRECTIONS) {
    const next = new Map<string, string[]>();
    for (const { from, to } of graph.edges) {
      const [near, far] = direction === "upstream" ? [to, from] : [from, to];
      const list = next.get(near);
      if (list === undefined) next.set(near, [far]);
      else list.push(far);
    }
    const reached = new Set([urn]);
    for (const one of reached) for (const other of next.get(one) ?? []) reached.add(other);
    for (const one of reached) related.add(one);
  }
  return related;
}
