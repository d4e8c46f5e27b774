import { useId, useState, type FormEvent, type ReactNode } from "react";

import { readablePath } from "../dataset/field_path.ts";
import { lineageTexts } from "../lineage_texts.ts";
import { texts } from "../texts.ts";
import { columnUrn } from "./about.ts";
import {
  ALL_STEPS,
  STEPS,
  VIEWS,
  daysAgo,
  type LineageParameter,
  type LineageState,
  type View,
} from "./state.ts";

export type ChangeState = (changes: Partial<Record<LineageParameter, string | null>>) => void;

const PRESETS = [7, 30, 90];
const YEAR = 365;
/** The option of the list of periods that stands for two dates. */
const CUSTOM = "custom";

interface ToolbarProperties {
  readonly state: LineageState;
  readonly view: View;
  readonly urn: string;
  readonly name: string;
  /** The columns that can be traced. */
  readonly columns: readonly string[];
  readonly change: ChangeState;
  readonly children?: ReactNode;
}

/** The view, the filters and the actions of the lineage tab. */
export function Toolbar({ state, view, urn, name, columns, change, children }: ToolbarProperties) {
  const words = lineageTexts;
  return (
    <div className="lineage-toolbar">
      <div className="lineage-views" role="group" aria-label={words.views.label}>
        {VIEWS.map((other) => (
          <button
            key={other}
            type="button"
            aria-pressed={other === view}
            onClick={() => change({ view: other })}
          >
            {words.views[other]}
          </button>
        ))}
      </div>
      {view !== "impact" && (
        <label>
          {words.steps}
          <select
            value={state.steps}
            onChange={(event) => change({ steps: event.currentTarget.value })}
          >
            {STEPS.map((number) => (
              <option key={number} value={number}>
                {number === ALL_STEPS ? words.allSteps : texts.number(number)}
              </option>
            ))}
          </select>
        </label>
      )}
      <PeriodFilter state={state} change={change} />
      {view !== "impact" && columns.length > 0 && (
        <ColumnField
          table={name}
          columns={columns}
          onTrace={(path) => change({ column: columnUrn(urn, path), from: null, to: null })}
        />
      )}
      {children}
    </div>
  );
}

function PeriodFilter({
  state: { since, until },
  change,
}: {
  readonly state: LineageState;
  readonly change: ChangeState;
}) {
  const words = lineageTexts.period;
  const days = [...PRESETS, YEAR];
  const preset = until === "" ? days.find((number) => daysAgo(number) === since) : undefined;
  const isSet = since !== "" || until !== "";
  const pick = (value: string) => {
    if (value === "") change({ since: null, until: null });
    else if (value === CUSTOM) change({ since: daysAgo(YEAR), until: daysAgo(0) });
    else change({ since: daysAgo(Number(value)), until: null });
  };
  return (
    <>
      <label title={words.hint}>
        {words.label}
        <select
          value={!isSet ? "" : (preset ?? CUSTOM)}
          onChange={(event) => pick(event.currentTarget.value)}
        >
          <option value="">{words.any}</option>
          {days.map((number) => (
            <option key={number} value={number}>
              {number === YEAR ? words.lastYear : words.lastDays(number)}
            </option>
          ))}
          <option value={CUSTOM}>{words.custom}</option>
        </select>
      </label>
      {isSet && preset === undefined && (
        <>
          <label>
            {words.from}
            <input
              type="date"
              value={since}
              max={until}
              onChange={(event) => change({ since: event.currentTarget.value })}
            />
          </label>
          <label>
            {words.until}
            <input
              type="date"
              value={until}
              min={since}
              onChange={(event) => change({ until: event.currentTarget.value })}
            />
          </label>
        </>
      )}
    </>
  );
}

/** A field that completes the names of columns, and traces the one that is picked. */
export function ColumnField({
  table,
  columns,
  onTrace,
}: {
  /** The name of the table. */
  readonly table: string;
  readonly columns: readonly string[];
  readonly onTrace: (path: string) => void;
}) {
  const words = lineageTexts.columns;
  const [unknown, setUnknown] = useState("");
  const listId = useId();
  const pathOf = (name: string) =>
    columns.find((path) => path === name) ?? columns.find((path) => readablePath(path) === name);
  const trace = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get("column") ?? "").trim();
    const path = pathOf(name);
    setUnknown(path === undefined ? name : "");
    if (path !== undefined) onTrace(path);
  };
  return (
    <form
      role="search"
      aria-label={words.title(table)}
      className="lineage-column-field"
      onSubmit={trace}
    >
      <label>
        {words.label}
        <input
          name="column"
          list={listId}
          autoComplete="off"
          placeholder={words.placeholder}
          aria-invalid={unknown === "" ? undefined : true}
          onInput={(event) => {
            setUnknown("");
            // A pick from the list is complete; typing may go on.
            const { nativeEvent } = event;
            const isPick =
              !(nativeEvent instanceof InputEvent) ||
              nativeEvent.inputType === "insertReplacementText";
            const path = pathOf(event.currentTarget.value);
            if (isPick && path !== undefined) onTrace(path);
          }}
        />
      </label>
      <datalist id={listId}>
        {columns.map((path) => (
          <option key={path} value={readablePath(path)} />
        ))}
      </datalist>
      <span role="status">{unknown !== "" && words.unknown(unknown)}</span>
    </form>
  );
}

interface FinderProperties {
  readonly query: string;
  readonly onQuery: (query: string) => void;
  readonly matches: ReadonlySet<string> | undefined;
  readonly current: string;
  readonly onShow: (urn: string) => void;
  readonly shown: number;
  readonly isLoading: boolean;
}

/** Finds entities in the graph. Enter goes to the next match. */
export function Finder(properties: FinderProperties) {
  const { query, onQuery, matches, current, onShow, shown, isLoading } = properties;
  const words = lineageTexts;
  const found = [...(matches ?? [])];
  const at = found.indexOf(current);
  return (
    <div className="lineage-finder">
      <input
        type="search"
        aria-label={words.find.label}
        placeholder={words.find.label}
        value={query}
        onInput={(event) => onQuery(event.currentTarget.value)}
        onKeyDown={(event) => {
          const next = found[(at + 1) % Math.max(1, found.length)];
          if (event.key !== "Enter" || next === undefined) return;
          event.preventDefault();
          onShow(next);
        }}
      />
      <span className="hint" role="status">
        {isLoading
          ? words.loading
          : matches === undefined
            ? words.shown(shown)
            : at >= 0
              ? words.find.position(at + 1, found.length)
              : words.find.found(found.length)}
      </span>
    </div>
  );
}
