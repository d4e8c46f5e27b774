import { useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";

import { areSingleKeyShortcutsEnabled } from "../components/shortcuts.ts";
import { lineageTexts } from "../lineage_texts.ts";
import type { About } from "./about.ts";
import { CARD_HEIGHT, EntityCard, ROW_HEIGHT, type Expanders } from "./card.tsx";
import { Edges, type ColumnEdges, type Rectangle } from "./edges.tsx";
import { neighborsIn, relatedTo, type Direction, type Graph } from "./graph.ts";
import { CARD_WIDTH, layoutOf, type Card, type Layout } from "./layout.ts";
import { PADDING, useDragging, useViewport } from "./viewport.ts";

/** Below this scale, cards show only their name. */
const FAR_SCALE = 0.5;

interface CanvasProperties {
  readonly label: string;
  readonly graph: Graph;
  readonly start: string;
  readonly columns: ColumnEdges | undefined;
  readonly tracedColumn: string | null;
  readonly about: (urn: string) => About;
  readonly selected: string | null;
  /** The card to bring into view. */
  readonly current: string;
  readonly onCurrent: (urn: string) => void;
  readonly onSelect: (urn: string | null) => void;
  readonly matches: ReadonlySet<string> | undefined;
  /** Absent where the graph cannot be expanded. */
  readonly expanders: ReadonlyMap<string, Expanders> | undefined;
  readonly onExpand: (urn: string, direction: Direction) => void;
  readonly onTrace: (column: string) => void;
}

/** The graph with its cards and edges. Only the visible part is in the document. */
export function Canvas(properties: CanvasProperties) {
  const { graph, start, columns, selected, current, matches, expanders } = properties;
  const words = lineageTexts;
  const layout = useLayout(graph, columns);
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const anchor = layout.cards.has(current) ? current : start;
  const { scale, visible, zoom, fit, center, onMoved } = useViewport(box, content, layout, anchor);
  useDragging(box, onMoved);
  const shouldFocus = useShowCurrent(box, layout, current, scale, onMoved);
  const emphasized = useMemo(
    () => (selected === null ? undefined : relatedTo(graph, selected)),
    [graph, selected],
  );

  const { onCurrent, onSelect, onExpand } = properties;
  const select = useCallback(
    (urn: string) => {
      onMoved();
      onCurrent(urn);
      onSelect(urn);
    },
    [onMoved, onCurrent, onSelect],
  );
  const expand = useCallback(
    (urn: string, direction: Direction) => {
      onMoved();
      onCurrent(urn);
      onExpand(urn, direction);
    },
    [onMoved, onCurrent, onExpand],
  );
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isSide = event.key === "ArrowLeft" || event.key === "ArrowRight";
    const direction = event.key === "ArrowLeft" ? "upstream" : "downstream";
    if (isSide && event.shiftKey) {
      event.preventDefault();
      if (expanders !== undefined) expand(anchor, direction);
      return;
    }
    const target = isSide
      ? nearest(layout, neighborsIn(graph, anchor, direction), anchor)
      : event.key === "ArrowUp" || event.key === "ArrowDown"
        ? besides(layout, anchor, event.key === "ArrowUp" ? -1 : 1)
        : event.key === "Home"
          ? start
          : undefined;
    if (target !== undefined) {
      event.preventDefault();
      shouldFocus();
      onCurrent(target);
    } else if (event.key === "Escape" && selected !== null) {
      event.preventDefault();
      onSelect(null);
    } else if (areSingleKeyShortcutsEnabled() && ["+", "-"].includes(event.key)) {
      event.preventDefault();
      zoom(event.key === "+" ? 1 : -1);
    }
  };

  const cards = [...layout.cards.values()].filter(
    (card) => card.urn === anchor || isIn(card, visible),
  );
  return (
    <>
      <div
        ref={box}
        className="lineage-canvas"
        role="group"
        aria-label={properties.label}
        aria-describedby="lineage-keys"
        onKeyDown={onKeyDown}
      >
        <div
          ref={content}
          className={scale < FAR_SCALE ? "lineage-content lineage-far" : "lineage-content"}
          style={{
            inlineSize: `${(layout.width + 2 * PADDING) * scale}px`,
            blockSize: `${(layout.height + 2 * PADDING) * scale}px`,
          }}
        >
          <div
            className="lineage-scaled"
            style={{ transform: `scale(${scale}) translate(${PADDING}px, ${PADDING}px)` }}
          >
            <Edges
              layout={layout}
              edges={graph.edges}
              columns={columns}
              emphasized={emphasized}
              visible={visible}
            />
            {cards.map((card) => (
              <EntityCard
                key={card.urn}
                card={card}
                about={properties.about(card.urn)}
                columns={columns?.columns.get(card.urn) ?? NO_COLUMNS}
                tracedColumn={properties.tracedColumn}
                isStart={card.urn === start}
                isSelected={card.urn === selected}
                isCurrent={card.urn === anchor}
                isDimmed={matches !== undefined && !matches.has(card.urn)}
                expanders={expanders?.get(card.urn) ?? null}
                onSelect={select}
                onExpand={expand}
                onTrace={properties.onTrace}
              />
            ))}
          </div>
        </div>
      </div>
      <div className="lineage-zoom" role="group" aria-label={words.zoom.label}>
        <button type="button" aria-label={words.zoom.out} onClick={() => zoom(-1)}>
          −
        </button>
        <button type="button" aria-label={words.zoom.in} onClick={() => zoom(1)}>
          +
        </button>
        <button type="button" onClick={fit}>
          {words.zoom.fit}
        </button>
        <button type="button" onClick={center}>
          {words.zoom.center}
        </button>
      </div>
      <p id="lineage-keys" className="hint lineage-keys">
        {words.keys} {graph.edges.some(({ isManual }) => isManual) && `${words.legendManual}.`}
      </p>
    </>
  );
}

const NO_COLUMNS: readonly string[] = [];

/** The layout of a graph. Its duration is in the browser's timeline, where the tests read it. */
function useLayout(graph: Graph, columns: ColumnEdges | undefined): Layout {
  return useMemo(() => {
    const start = performance.now();
    const layout = layoutOf(
      graph.nodes,
      graph.edges,
      (urn) => CARD_HEIGHT + (columns?.columns.get(urn)?.length ?? 0) * ROW_HEIGHT,
    );
    performance.measure("lineage layout", { start, detail: graph.nodes.size });
    return layout;
  }, [graph, columns]);
}

/** Scrolls to the current card, and focuses it if the keyboard moved there. */
function useShowCurrent(
  box: { readonly current: HTMLDivElement | null },
  layout: Layout,
  current: string,
  scale: number,
  onMoved: () => void,
) {
  const isFocusDue = useRef(false);
  const [shown, setShown] = useState(current);
  useEffect(() => {
    if (shown === current) return;
    setShown(current);
    const card = box.current?.querySelector<HTMLElement>(`[data-urn="${CSS.escape(current)}"]`);
    if (card === null || card === undefined) return;
    onMoved();
    card.scrollIntoView({ block: "nearest", inline: "nearest" });
    if (isFocusDue.current) card.focus({ preventScroll: true });
    isFocusDue.current = false;
  }, [box, layout, current, shown, scale, onMoved]);
  return () => {
    isFocusDue.current = true;
  };
}

const isIn = (card: Card, { left, top, right, bottom }: Rectangle) =>
  card.x <= right && card.x + CARD_WIDTH >= left && card.y <= bottom && card.y + card.height >= top;

/** The one of these cards that is nearest in height. */
function nearest(layout: Layout, urns: readonly string[], to: string): string | undefined {
  const y = layout.cards.get(to)?.y ?? 0;
  const distance = (urn: string) => Math.abs((layout.cards.get(urn)?.y ?? Infinity) - y);
  return urns.toSorted((one, other) => distance(one) - distance(other))[0];
}

/** The card above or below in the same layer. */
function besides(layout: Layout, urn: string, step: number): string | undefined {
  const layer = layout.cards.get(urn)?.layer;
  const cards = [...layout.cards.values()].filter((card) => card.layer === layer);
  const sorted = cards.toSorted((one, other) => one.y - other.y).map((card) => card.urn);
  return sorted[sorted.indexOf(urn) + step];
}
