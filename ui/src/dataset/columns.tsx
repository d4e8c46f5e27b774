import { defaultRangeExtractor, useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";

import { useRead } from "../api/cache.ts";
import type { Typed } from "../components/drafts.ts";
import { useFocusKept } from "../components/focus.ts";
import { isForSomethingElse } from "../components/keys.ts";
import { Markdown } from "../components/markdown.tsx";
import { SectionHead } from "../components/sections.tsx";
import { CopyButton } from "../components/small.tsx";
import { Outdated, Problem, Skeleton } from "../components/states.tsx";
import { ColumnsDocument } from "../generated/operations.ts";
import { texts } from "../texts.ts";
import { ColumnLine, type LineActions } from "./column_line.tsx";
import { rowsOf, visibleRows, type ColumnRow } from "./column_rows.ts";
import { useColumnSaving, type Saving } from "./column_saving.ts";
import { readablePath } from "./field_path.ts";

const ROW_HEIGHT = 35;
/** What stays above the rows while one scrolls: the bar of the page, the filter and the head of the table. */
const STICKY_HEIGHT = 120;
/** So close to the end of the page one has reached it. */
const END_WIDTH = 2;
/** Rows above and below the window that are there before one scrolls to them. */
const SPARE_ROWS = 6;
/** A handful of columns is read faster than a filter is typed. */
const WORTH_A_FILTER = 8;

export function Columns({ urn, canEdit }: { readonly urn: string; readonly canEdit: boolean }) {
  const read = useRead(ColumnsDocument, { urn });
  const rows = useMemo(() => rowsOf(read.data), [read.data]);
  const paths = useMemo(() => new Set(rows.map((row) => row.path)), [rows]);
  const [filter, setFilter] = useState("");
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const saving = useColumnSaving(urn, canEdit);
  const [edited, setEdited] = useState<string | null>(null);
  const typed = useRef<readonly [string, Typed] | null>(null);
  const held = useMemo(() => heldRows(saving.states, edited), [saving.states, edited]);
  const shown = useMemo(() => visibleRows(rows, filter, folded, held), [rows, filter, folded, held]);
  const section = useRef<HTMLElement>(null);
  // Whoever has finished with a column, or decided about its text, goes on at its button.
  useFocusKept(section, (place) => place.closest("[role=row]")?.querySelector<HTMLElement>("[data-edits]"));
  const described = useMemo(() => rows.filter((row) => row.written !== "" || row.ingested !== "").length, [rows]);
  const problems = [...saving.states].filter(([, state]) => state.state !== "saving");
  // What is there after all needs no decision: only the answer was lost.
  useEffect(() => {
    for (const [path, { state, mine }] of saving.states) {
      if (state === "failed" && rows.some((row) => row.path === path && row.written === mine)) saving.forget(path);
    }
  }, [rows]);
  // A column that disappeared while somebody described it leaves its text behind.
  const isGone = edited !== null && !paths.has(edited);
  useLayoutEffect(() => {
    if (!isGone) return;
    if (typed.current?.[0] === edited) saving.keep(edited, typed.current[1], texts.columns.gone(readablePath(edited)));
    setEdited(null);
  }, [isGone]);

  return (
    <section className="section columns-section" aria-labelledby="columns" ref={section}>
      <SectionHead title={texts.columns.heading} id="columns">
        {rows.length > 0 && (
          <span className="hint" role="status">
            {filter.trim() === ""
              ? `${texts.columns.count(rows.length)} · ${texts.columns.described(described, rows.length)}`
              : texts.columns.shown(shown.length, rows.length)}
          </span>
        )}
        {rows.length >= WORTH_A_FILTER && (
          <input
            type="search"
            className="column-filter"
            aria-label={texts.columns.filter}
            placeholder={texts.columns.filter}
            value={filter}
            onChange={(event) => setFilter(event.target.value)}
          />
        )}
      </SectionHead>
      {read.isPending && <Skeleton lines={8} />}
      {read.isLoadingError && <Problem error={read.error} retry={() => void read.refetch()} />}
      <Outdated read={read} />
      {problems.length > 0 && (
        <p className="notice" role="status">
          {texts.columns.notSaved(problems.length)}
        </p>
      )}
      {problems
        .filter(([path]) => !paths.has(path))
        .map(([path, state]) => (
          <LeftBehind key={path} path={path} text={state.mine} onForget={saving.forget} />
        ))}
      {read.isSuccess && rows.length === 0 && <p className="hint">{texts.columns.noSchema}</p>}
      {rows.length > 0 && shown.length === 0 && <p className="hint">{texts.columns.none(filter)}</p>}
      {shown.length > 0 && (
        <ColumnTable
          urn={urn}
          rows={shown}
          canEdit={canEdit}
          folded={folded}
          edited={edited}
          states={saving.states}
          actions={{
            onEdit: setEdited,
            onFold: (path) => setFolded((before) => toggled(before, path)),
            onType: (path, mine) => {
              typed.current = mine === null ? null : [path, mine];
              saving.type(path, mine);
            },
            onSave: saving.save,
            onForget: saving.forget,
          }}
        />
      )}
    </section>
  );
}

const NONE_HELD: ReadonlySet<string> = new Set();

/** The rows that stay whatever the filter says: somebody's text is in them. */
function heldRows(states: ReadonlyMap<string, Saving>, edited: string | null): ReadonlySet<string> {
  const held = [...states].filter(([, saving]) => saving.state !== "saving").map(([path]) => path);
  if (edited !== null) held.push(edited);
  return held.length === 0 ? NONE_HELD : new Set(held);
}

function toggled(before: ReadonlySet<string>, path: string): ReadonlySet<string> {
  const next = new Set(before);
  if (!next.delete(path)) next.add(path);
  return next;
}

interface LeftBehindProperties {
  readonly path: string;
  readonly text: string;
  readonly onForget: (path: string) => void;
}

/** The text of a column that is no longer there. */
function LeftBehind({ path, text, onForget }: LeftBehindProperties) {
  return (
    <div className="problem" role="alert">
      <p>{texts.columns.gone(readablePath(path))}</p>
      <Markdown text={text} />
      <div className="writing-feet">
        <CopyButton text={text} label={texts.columns.copy} />
        <button type="button" className="dangerous" onClick={() => onForget(path)}>
          {texts.columns.discard}
        </button>
      </div>
    </div>
  );
}

interface TableProperties {
  readonly urn: string;
  readonly rows: readonly ColumnRow[];
  readonly canEdit: boolean;
  readonly folded: ReadonlySet<string>;
  /** The column that is being described. */
  readonly edited: string | null;
  readonly states: ReadonlyMap<string, Saving>;
  readonly actions: Omit<LineActions, "onLeave" | "onEdit"> & { readonly onEdit: (path: string | null) => void };
}

/** The rows near the window only: a dataset may have thousands of columns. */
function ColumnTable({ urn, rows, canEdit, folded, edited, states, actions }: TableProperties) {
  const body = useRef<HTMLDivElement>(null);
  const [offset, setOffset] = useState(0);
  // What stands above the table changes its height when texts are edited.
  useLayoutEffect(() => {
    const measure = () => setOffset((body.current?.getBoundingClientRect().top ?? 0) + window.scrollY);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, []);
  const editedPlace = edited === null ? -1 : rows.findIndex((row) => row.path === edited);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ROW_HEIGHT,
    overscan: SPARE_ROWS,
    scrollMargin: offset,
    scrollPaddingStart: STICKY_HEIGHT,
    getItemKey: (index) => rows[index]?.path ?? index,
    // A row that is being edited stays, however far one scrolls.
    rangeExtractor: (range) => {
      const near = defaultRangeExtractor(range);
      if (editedPlace < 0 || near.includes(editedPlace)) return near;
      return [...near, editedPlace].sort((one, other) => one - other);
    },
  });
  useEndKept(rows, virtual.getTotalSize());
  const current = useRef({ rows, edited, virtual, actions });
  current.current = { rows, edited, virtual, actions };
  const lineActions = useMemo<LineActions>(
    () => ({
      onEdit: (path) => current.current.actions.onEdit(path),
      onFold: (path) => current.current.actions.onFold(path),
      onType: (path, typed) => current.current.actions.onType(path, typed),
      onSave: (path, typed) => current.current.actions.onSave(path, typed),
      onForget: (path) => current.current.actions.onForget(path),
      onLeave: (path, step) => {
        // Who has begun with another column already is there.
        if (current.current.edited !== path) return;
        const place = current.current.rows.findIndex((row) => row.path === path);
        const to = step === "next" ? place + 1 : step === "previous" ? place - 1 : -1;
        const next = current.current.rows[to];
        current.current.actions.onEdit(next?.path ?? null);
        if (next !== undefined) current.current.virtual.scrollToIndex(to, { align: "auto" });
      },
    }),
    [],
  );

  return (
    <div role="table" className="columns" aria-labelledby="columns" aria-rowcount={rows.length + 1}>
      <div role="rowgroup" className="columns-top">
        <div role="row" className="column columns-head" aria-rowindex={1}>
          <div role="columnheader">{texts.columns.name}</div>
          <div role="columnheader">{texts.columns.type}</div>
          <div role="columnheader">{texts.columns.description}</div>
        </div>
      </div>
      <div role="rowgroup" ref={body} className="columns-body" style={{ blockSize: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const row = rows[item.index];
          if (row === undefined) return null;
          return (
            <div
              key={item.key}
              ref={virtual.measureElement}
              role="row"
              className="column"
              data-index={item.index}
              aria-rowindex={item.index + 2}
              aria-busy={states.get(row.path)?.state === "saving"}
              style={{ transform: `translateY(${item.start - offset}px)` }}
            >
              <ColumnLine
                urn={urn}
                row={row}
                isEditing={edited === row.path}
                isFolded={folded.has(row.path)}
                canEdit={canEdit}
                saving={states.get(row.path)}
                actions={lineActions}
              />
            </div>
          );
        })}
      </div>
    </div>
  );
}

const toEnd = () => window.scrollTo(0, document.documentElement.scrollHeight);

/** Whoever went to the end of the page stays there when the rows turn out to be higher than they were taken for. */
function useEndKept(rows: readonly ColumnRow[], size: number): void {
  const isAtEnd = useRef(false);
  useEffect(() => {
    const look = () => {
      const { scrollHeight } = document.documentElement;
      isAtEnd.current = window.scrollY + window.innerHeight >= scrollHeight - END_WIDTH;
    };
    // A browser that glides there aims at where the end was when the key was pressed.
    const press = (event: KeyboardEvent) => {
      if (event.key !== "End" || event.shiftKey || event.altKey || isForSomethingElse(event)) return;
      event.preventDefault();
      isAtEnd.current = true;
      toEnd();
    };
    // First of all: rows that come with the scrolling have moved the end when others hear of it.
    window.addEventListener("scroll", look, { passive: true, capture: true });
    window.addEventListener("keydown", press);
    return () => {
      window.removeEventListener("scroll", look, { capture: true });
      window.removeEventListener("keydown", press);
    };
  }, []);
  // Other rows are another page: its end is not where one was.
  useLayoutEffect(() => void (isAtEnd.current = false), [rows]);
  useLayoutEffect(() => {
    if (isAtEnd.current) toEnd();
  }, [size]);
}
