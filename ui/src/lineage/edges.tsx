import { memo } from "react";

import { columnOf } from "./about.ts";
import { CARD_HEIGHT, ROW_HEIGHT } from "./card.tsx";
import type { Edge } from "./graph.ts";
import { CARD_WIDTH, edgeKey, type Card, type Layout, type Point } from "./layout.ts";

/** A part of the graph that is in view. */
export interface Rectangle {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** The edges between columns, with the columns in each card. */
export interface ColumnEdges {
  readonly edges: readonly Edge[];
  readonly columns: ReadonlyMap<string, readonly string[]>;
}

interface EdgesProperties {
  readonly layout: Layout;
  readonly edges: readonly Edge[];
  readonly columns: ColumnEdges | undefined;
  /** Entities whose edges among each other stand out. */
  readonly emphasized: ReadonlySet<string> | undefined;
  readonly visible: Rectangle;
}

const ARROW = 6;

/** The lines between the cards: few elements, whatever their number. */
export const Edges = memo(function Edges(properties: EdgesProperties) {
  const { layout, edges, columns, emphasized, visible } = properties;
  const lines = { plain: "", manual: "", strong: "" };
  const arrows = { plain: "", manual: "", strong: "" };
  const drawn: readonly Edge[] = columns?.edges ?? edges;
  for (const edge of drawn) {
    const route = routeOf(edge, layout, columns?.columns);
    if (route === null || !isVisible(route, visible)) continue;
    const isStrong = emphasized?.has(edge.from) === true && emphasized.has(edge.to);
    const style = isStrong ? "strong" : edge.isManual ? "manual" : "plain";
    const end = route.at(-1);
    lines[style] += pathOf(route);
    if (end !== undefined) arrows[style] += `M${end.x} ${end.y}l${-ARROW} ${-ARROW / 2}v${ARROW}z`;
  }
  return (
    <svg
      className="lineage-edges"
      width={layout.width}
      height={layout.height}
      aria-hidden="true"
      focusable="false"
    >
      {(["plain", "manual", "strong"] as const).map((style) => (
        <g key={style} className={`lineage-edge-${style}`}>
          <path className="lineage-line" d={lines[style]} />
          <path className="lineage-arrow" d={arrows[style]} />
        </g>
      ))}
    </svg>
  );
});

/** The height of the end of an edge: the middle of the card, or the row of the column. */
function anchor(
  card: Card,
  urn: string,
  columns: ReadonlyMap<string, readonly string[]> | undefined,
): number {
  const row = columns?.get(card.urn)?.indexOf(urn) ?? -1;
  return card.y + (row < 0 ? CARD_HEIGHT / 2 : CARD_HEIGHT + (row + 0.5) * ROW_HEIGHT);
}

function routeOf(
  edge: Edge,
  layout: Layout,
  columns: ColumnEdges["columns"] | undefined,
): readonly Point[] | null {
  const ends = { from: tableOf(edge.from), to: tableOf(edge.to) };
  const from = layout.cards.get(ends.from);
  const to = layout.cards.get(ends.to);
  if (from === undefined || to === undefined) return null;
  return [
    { x: from.x + CARD_WIDTH, y: anchor(from, edge.from, columns) },
    ...(layout.waypoints.get(edgeKey(ends)) ?? []),
    { x: to.x, y: anchor(to, edge.to, columns) },
  ];
}

const tableOf = (urn: string) => columnOf(urn)?.table ?? urn;

function isVisible(route: readonly Point[], visible: Rectangle): boolean {
  const xs = route.map(({ x }) => x);
  const ys = route.map(({ y }) => y);
  return (
    Math.min(...xs) <= visible.right &&
    Math.max(...xs) >= visible.left &&
    Math.min(...ys) <= visible.bottom &&
    Math.max(...ys) >= visible.top
  );
}

/** A smooth line that leaves and enters horizontally. */
function pathOf(route: readonly Point[]): string {
  let path = "";
  route.forEach(({ x, y }, index) => {
    const previous = route[index - 1];
    if (previous === undefined) {
      path += `M${x} ${y}`;
      return;
    }
    // An edge that closes a cycle leads back around the cards.
    const bend = x > previous.x ? (x - previous.x) / 2 : 60;
    path += `C${previous.x + bend} ${previous.y} ${x - bend} ${y} ${x} ${y}`;
  });
  return path;
}
