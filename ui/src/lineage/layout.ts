// Where the cards of a lineage graph go: a layered layout from left to right. The layers are known
// from the lineage itself, so only the order within them and the heights have to be found, which
// takes milliseconds where libraries for any graph take seconds; see docs/ARCHITECTURE.md.
//
// Edges across several layers get a waypoint in each of them, so that they pass between the cards.

import type { Edge } from "./graph.ts";

export const CARD_WIDTH = 232;
const LAYER_GAP = 96;
const CARD_GAP = 18;
const WAYPOINT_HEIGHT = 10;
/** Rounds of ordering the layers by their neighbors. More change little. */
const ORDER_ROUNDS = 8;
const HEIGHT_ROUNDS = 10;
/** Beyond this, long edges get no waypoints: they would outnumber the cards by far. */
const MAX_WAYPOINTS = 20_000;

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Card extends Point {
  readonly urn: string;
  readonly height: number;
  readonly layer: number;
}

export interface Layout {
  readonly cards: ReadonlyMap<string, Card>;
  /** The waypoints of each edge, from left to right, by `edgeKey`. */
  readonly waypoints: ReadonlyMap<string, readonly Point[]>;
  readonly width: number;
  readonly height: number;
}

export const edgeKey = ({ from, to }: Pick<Edge, "from" | "to">) => `${from} ${to}`;

/** A card or a waypoint in its layer. */
interface Item {
  readonly urn: string | null;
  readonly layer: number;
  readonly height: number;
  readonly before: Item[];
  readonly after: Item[];
  /** The position in its layer. */
  order: number;
  /** The center. */
  y: number;
}

/**
 * Places the cards. `levels` are the steps from the start, negative upstream; a layer may be
 * farther, so that edges lead to the right.
 */
export function layoutOf(
  levels: ReadonlyMap<string, number>,
  edges: readonly Edge[],
  heightOf: (urn: string) => number,
): Layout {
  const layerOf = layersOf(levels, edges);
  const items = new Map<string, Item>();
  for (const urn of levels.keys()) {
    const layer = layerOf.get(urn) ?? 0;
    const height = heightOf(urn);
    items.set(urn, { urn, layer, height, before: [], after: [], order: 0, y: 0 });
  }
  const { chains, added } = connect(items, edges);
  const layers: Item[][] = [];
  for (const item of [...items.values(), ...added]) (layers[item.layer] ??= []).push(item);
  for (const layer of layers) layer.forEach((item, order) => (item.order = order));
  orderLayers(layers);
  placeVertically(layers);

  const all = layers.flat();
  const top = Math.min(...all.map(({ y, height }) => y - height / 2));
  const bottom = Math.max(...all.map(({ y, height }) => y + height / 2));
  const x = (layer: number) => layer * (CARD_WIDTH + LAYER_GAP);
  const cards = new Map(
    [...items].map(([urn, { layer, height, y }]) => [
      urn,
      { urn, layer, height, x: x(layer), y: y - height / 2 - top },
    ]),
  );
  const waypoints = new Map(
    [...chains].map(([key, chain]) => [
      key,
      chain.flatMap(({ layer, y }) => [
        { x: x(layer), y: y - top },
        { x: x(layer) + CARD_WIDTH, y: y - top },
      ]),
    ]),
  );
  return { cards, waypoints, width: x(layers.length - 1) + CARD_WIDTH, height: bottom - top };
}

/** The layer of each entity, from 0: such that edges lead to a later layer, except in cycles. */
function layersOf(
  levels: ReadonlyMap<string, number>,
  edges: readonly Edge[],
): ReadonlyMap<string, number> {
  const outgoing = new Map<string, string[]>();
  for (const { from, to } of edges) {
    const list = outgoing.get(from);
    if (list === undefined) outgoing.set(from, [to]);
    else list.push(to);
  }
  const sorted = topologicalOrder([...levels.keys()], outgoing);
  const position = new Map(sorted.map((urn, index) => [urn, index]));
  const forward = (urn: string) =>
    (outgoing.get(urn) ?? []).filter((to) => (position.get(to) ?? 0) > (position.get(urn) ?? 0));
  const layer = new Map(levels);
  const of = (urn: string) => layer.get(urn) ?? 0;
  // What is upstream moves away from the start to the left, everything else to the right.
  for (const urn of sorted.toReversed()) {
    if ((levels.get(urn) ?? 0) >= 0) continue;
    for (const to of forward(urn)) layer.set(urn, Math.min(of(urn), of(to) - 1));
  }
  for (const urn of sorted) {
    for (const to of forward(urn)) {
      if ((levels.get(to) ?? 0) >= 0) layer.set(to, Math.max(of(to), of(urn) + 1));
    }
  }
  // Layers without a card are left out.
  const used = [...new Set(layer.values())].sort((one, other) => one - other);
  const index = new Map(used.map((value, at) => [value, at]));
  return new Map([...layer].map(([urn, value]) => [urn, index.get(value) ?? 0]));
}

/** Entities before those they flow into; a cycle is cut somewhere. */
function topologicalOrder(
  urns: readonly string[],
  outgoing: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const finished: string[] = [];
  const seen = new Set<string>();
  for (const root of urns) {
    if (seen.has(root)) continue;
    seen.add(root);
    const open = [{ urn: root, next: 0 }];
    for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
      const to = outgoing.get(last.urn)?.[last.next++];
      if (to === undefined) {
        finished.push(last.urn);
        open.pop();
      } else if (!seen.has(to)) {
        seen.add(to);
        open.push({ urn: to, next: 0 });
      }
    }
  }
  return finished.reverse();
}

/** Connects the items of edges, with waypoints in the layers between. */
function connect(items: ReadonlyMap<string, Item>, edges: readonly Edge[]) {
  const chains = new Map<string, readonly Item[]>();
  const added: Item[] = [];
  for (const edge of edges) {
    const from = items.get(edge.from);
    const to = items.get(edge.to);
    // An edge within a layer or backwards closes a cycle.
    if (from === undefined || to === undefined || from.layer >= to.layer) continue;
    const chain: Item[] = [];
    const span = to.layer - from.layer - 1;
    let last = from;
    for (let step = 1; step <= span && added.length < MAX_WAYPOINTS; step++) {
      const layer = from.layer + step;
      const waypoint: Item = {
        urn: null,
        layer,
        height: WAYPOINT_HEIGHT,
        before: [],
        after: [],
        order: 0,
        y: 0,
      };
      join(last, waypoint);
      chain.push(waypoint);
      added.push(waypoint);
      last = waypoint;
    }
    if (to.layer === last.layer + 1) join(last, to);
    chains.set(edgeKey(edge), chain);
  }
  return { chains, added };
}

function join(left: Item, right: Item): void {
  left.after.push(right);
  right.before.push(left);
}

const mean = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Orders each layer by the mean position of its neighbors, alternating between the sides. */
function orderLayers(layers: readonly Item[][]): void {
  for (let round = 0; round < ORDER_ROUNDS; round++) {
    const isForward = round % 2 === 0;
    for (const layer of isForward ? layers : layers.toReversed()) {
      const center = new Map(
        layer.map((item) => {
          const near = isForward ? item.before : item.after;
          return [item, near.length === 0 ? item.order : mean(near.map(({ order }) => order))];
        }),
      );
      layer.sort((one, other) => (center.get(one) ?? 0) - (center.get(other) ?? 0));
      layer.forEach((item, order) => (item.order = order));
    }
  }
}

/** Moves the items of each layer as close to the height of their neighbors as the order allows. */
function placeVertically(layers: readonly Item[][]): void {
  for (const layer of layers) {
    let y = 0;
    for (const item of layer) {
      item.y = y + item.height / 2;
      y += item.height + CARD_GAP;
    }
    for (const item of layer) item.y -= y / 2;
  }
  for (let round = 0; round < HEIGHT_ROUNDS; round++) {
    const isForward = round % 2 === 0;
    for (const layer of isForward ? layers : layers.toReversed()) {
      const ideal = layer.map((item) => {
        const side = isForward ? item.before : item.after;
        const near = side.length === 0 ? [...item.before, ...item.after] : side;
        return near.length === 0 ? item.y : mean(near.map(({ y }) => y));
      });
      placeLayer(layer, ideal);
    }
  }
}

/** The heights nearest to the ideal ones that keep the order and the gaps: items that would overlap
 *  form blocks, which take the mean of what their items want. */
function placeLayer(layer: readonly Item[], ideal: readonly number[]): void {
  const blocks: { sum: number; count: number }[] = [];
  // Where each item would be if all before it touched; a block then has one common offset.
  const offsets: number[] = [];
  let offset = 0;
  layer.forEach((item, index) => {
    const previous = layer[index - 1];
    if (previous !== undefined) offset += (previous.height + item.height) / 2 + CARD_GAP;
    offsets.push(offset);
    let block = { sum: (ideal[index] ?? 0) - offset, count: 1 };
    for (let last = blocks.at(-1); last !== undefined; last = blocks.at(-1)) {
      if (last.sum / last.count <= block.sum / block.count) break;
      block = { sum: last.sum + block.sum, count: last.count + block.count };
      blocks.pop();
    }
    blocks.push(block);
  });
  let index = 0;
  for (const { sum, count } of blocks) {
    for (let item = 0; item < count; item++, index++) {
      const at = layer[index];
      if (at !== undefined) at.y = sum / count + (offsets[index] ?? 0);
    }
  }
}
