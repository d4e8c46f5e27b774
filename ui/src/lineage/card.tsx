import { memo } from "react";

import { readablePath } from "../dataset/field_path.ts";
import { PlatformIcon } from "../icons/platform_icon.tsx";
import { nameOf } from "../names.ts";
import { lineageTexts } from "../lineage_texts.ts";
import { texts } from "../texts.ts";
import { columnOf, type About } from "./about.ts";
import { DIRECTIONS, type Direction } from "./graph.ts";
import type { Card } from "./layout.ts";

export const CARD_HEIGHT = 74;
export const ROW_HEIGHT = 24;

/** What the button at one side of a card does. */
export interface Expander {
  /** Neighbors that are not shown. */
  readonly hidden: number;
  /** Whether the neighbors were shown by expanding the card. */
  readonly isExpanded: boolean;
}

export type Expanders = Readonly<Record<Direction, Expander>>;

interface CardProperties {
  readonly card: Card;
  readonly about: About;
  readonly columns: readonly string[];
  readonly tracedColumn: string | null;
  readonly isStart: boolean;
  readonly isSelected: boolean;
  /** Whether it is the card in the order of the Tab key. */
  readonly isCurrent: boolean;
  readonly isDimmed: boolean;
  readonly expanders: Expanders | null;
  readonly onSelect: (urn: string) => void;
  readonly onExpand: (urn: string, direction: Direction) => void;
  readonly onTrace: (column: string) => void;
}

/** An entity in the graph. */
export const EntityCard = memo(function EntityCard(properties: CardProperties) {
  const { card, about, columns, isStart, isSelected, isCurrent, isDimmed, expanders } = properties;
  const words = lineageTexts;
  const owner = about.owners[0];
  const place = about.domain ?? owner;
  const details = [about.kind, about.platform].filter((text) => text !== "").join(" · ");
  const tabIndex = isCurrent ? 0 : -1;
  // In the order in which the card shows them: users who speak to the page say what they see.
  const label = [
    details,
    about.isDeprecated ? texts.dataset.deprecated : "",
    place === undefined ? "" : nameOf(place),
    isStart ? words.isStart : "",
  ];
  return (
    <div
      className={`lineage-card${isStart ? " lineage-start" : ""}${isDimmed ? " lineage-dimmed" : ""}`}
      style={{
        insetInlineStart: `${card.x}px`,
        insetBlockStart: `${card.y}px`,
        blockSize: `${card.height}px`,
      }}
      data-selected={isSelected || undefined}
    >
      <button
        type="button"
        className="lineage-card-body"
        style={{ blockSize: `${CARD_HEIGHT}px` }}
        data-urn={card.urn}
        tabIndex={tabIndex}
        aria-pressed={isSelected}
        aria-label={words.cardLabel(about.name, label.filter((text) => text !== "").join(", "))}
        title={about.location === "" ? about.name : `${about.name} (${about.location})`}
        onClick={() => properties.onSelect(card.urn)}
      >
        {about.platformUrn !== undefined && <PlatformIcon urn={about.platformUrn} />}
        <span className="lineage-card-name" dir="auto">
          {about.name}
        </span>{" "}
        <span className="lineage-card-detail">{details}</span>{" "}
        <span className="lineage-card-detail" dir="auto">
          {about.isDeprecated && <span className="warning">{texts.dataset.deprecated} </span>}
          {place !== undefined && nameOf(place)}
        </span>
      </button>
      {columns.map((column) => (
        <button
          key={column}
          type="button"
          className="lineage-column"
          style={{ blockSize: `${ROW_HEIGHT}px` }}
          tabIndex={tabIndex}
          aria-pressed={column === properties.tracedColumn}
          onClick={() => properties.onTrace(column)}
        >
          {readablePath(columnOf(column)?.path ?? column)}
        </button>
      ))}
      {expanders !== null &&
        DIRECTIONS.map((direction) => (
          <ExpandButton
            key={direction}
            name={about.name}
            direction={direction}
            expander={expanders[direction]}
            tabIndex={tabIndex}
            onClick={() => properties.onExpand(card.urn, direction)}
          />
        ))}
    </div>
  );
});

function ExpandButton({
  name,
  direction,
  expander: { hidden, isExpanded },
  tabIndex,
  onClick,
}: {
  readonly name: string;
  readonly direction: Direction;
  readonly expander: Expander;
  readonly tabIndex: number;
  readonly onClick: () => void;
}) {
  if (hidden === 0 && !isExpanded) return null;
  const words = lineageTexts;
  const label =
    hidden > 0 ? words.expand[direction](hidden, name) : words.collapse[direction](name);
  return (
    <button
      type="button"
      className={`lineage-expand lineage-expand-${direction}`}
      tabIndex={tabIndex}
      aria-label={label}
      title={label}
      onClick={onClick}
    >
      {hidden > 0 ? `+${texts.number(hidden)}` : "−"}
    </button>
  );
}
