import { defaultRangeExtractor, useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useMemo, useRef, useState, type CSSProperties } from "react";
import { flushSync } from "react-dom";
import { useLocation, useSearch } from "wouter";

import { useApiQuery } from "../api/cache.ts";
import type { Draft } from "../components/drafts.ts";
import { useFocusFallback } from "../components/focus.ts";
import { isHandledElsewhere } from "../components/shortcuts.ts";
import { Markdown } from "../components/markdown.tsx";
import { SectionHeader } from "../components/sections.tsx";
import { CopyButton } from "../components/common.tsx";
import { StaleNotice, ErrorMessage, Skeleton } from "../components/states.tsx";
import { ColumnsDocument } from "../generated/operations.ts";
import { iconImage } from "../icons/icon.tsx";
import type { Right } from "../privileges.ts";
import { usePendingColumns } from "../proposals/pending.tsx";
import { texts } from "../texts.ts";
import { hasShares, useColumnDetails, type Details } from "../trust/column_details.tsx";
import { ColumnCells, type ColumnActions } from "./column_cells.tsx";
import { ColumnLabelsDialog, type LabelRights } from "./column_labels_dialog.tsx";
import {
  isDocumented,
  isFiltered,
  rowsOf,
  visibleRows,
  type ColumnFilter,
  type ColumnRow,
} from "./column_rows.ts";
import { useColumnSaves, type SaveState } from "./column_saves.ts";
import { readablePath } from "./field_path.ts";

const ROW_HEIGHT = 35;
/** Height of the sticky elements above the rows: page header, filter and table header. */
const STICKY_HEIGHT = 120;
/** Tolerance in pixels for being at the end of the page. */
const END_TOLERANCE = 2;
/** More rows than this are rendered only near the visible part. Up to it, the browser's own search
 *  finds all of them. */
const MAX_RENDERED_ROWS = 300;
/** Rows rendered beyond the visible ones. */
const OVERSCAN_ROWS = 6;
/** The icons of a row's actions, which the style sheet draws only where they are visible. */
const ROW_ICONS = {
  "--icon-history": iconImage("history"),
  "--icon-elsewhere": iconImage("table"),
  "--icon-label": iconImage("tag"),
  "--icon-edit": iconImage("edit"),
} as CSSProperties;
/** With fewer columns, reading is faster than filtering. */
const MIN_ROWS_FOR_FILTER = 8;

interface ColumnsProperties {
  readonly urn: string;
  readonly right: Right;
  readonly labelRights: LabelRights;
}

export function Columns({ urn, right, labelRights }: ColumnsProperties) {
  const canEdit = right !== "none";
  const read = useApiQuery(ColumnsDocument, { urn });
  const { details, isPending: areDetailsPending } = useColumnDetails(urn);
  // Rows grow with their details, so both appear together.
  const isPending = read.isPending || (areDetailsPending && !read.isError);
  const rows = useMemo(() => rowsOf(isPending ? undefined : read.data), [read.data, isPending]);
  const paths = useMemo(() => new Set(rows.map((row) => row.path)), [rows]);
  const pending = usePendingColumns(urn);
  const [filter, setFilter] = useState<ColumnFilter>({ text: "", isUndocumentedOnly: false });
  const [collapsed, setCollapsed] = useState<ReadonlySet<string>>(new Set());
  const saves = useColumnSaves(urn, canEdit);
  const [editing, setEditing] = useState<string | null>(null);
  /** The column whose tags and terms are open. */
  const [labeled, setLabeled] = useState<string | null>(null);
  const draft = useRef<readonly [string, Draft] | null>(null);
  /** Rows edited since the filter was set: a saved one must not vanish with the focus in it. */
  const [edited, setEdited] = useState<ReadonlySet<string>>(new Set());
  const edit = (path: string | null) => {
    if (path !== null) setEdited((before) => new Set([...before, path]));
    setEditing(path);
  };
  const applyFilter = (next: ColumnFilter) => {
    setEdited(new Set());
    setFilter(next);
  };
  const pinned = useMemo(
    () => new Set([...pinnedRows(saves.states, editing), ...edited]),
    [saves.states, editing, edited],
  );
  const shown = useMemo(
    () => visibleRows(rows, filter, collapsed, pinned),
    [rows, filter, collapsed, pinned],
  );
  const highlighted = new URLSearchParams(useSearch()).get("highlightedPath");
  const section = useRef<HTMLElement>(null);
  // Closing an editor or resolving a conflict moves the focus to the edit button of the row.
  useFocusFallback(section, (ancestor) =>
    ancestor.closest("[role=row]")?.querySelector<HTMLElement>("[data-edit-button]"),
  );
  const documented = useMemo(() => rows.filter(isDocumented).length, [rows]);
  const unsaved = [...saves.states].filter(([, state]) => state.state !== "saving");
  // A failed save whose text is stored after all needs no decision: only the response was lost.
  useEffect(() => {
    for (const [path, { state, text }] of saves.states) {
      if (state === "failed" && rows.some((row) => row.path === path && row.edited === text))
        saves.discard(path);
    }
  }, [rows]);
  // If the edited column disappears from the schema, keep its text.
  const isMissing = editing !== null && !paths.has(editing);
  useLayoutEffect(() => {
    if (!isMissing) return;
    if (draft.current?.[0] === editing)
      saves.fail(editing, draft.current[1], texts.columns.missing(readablePath(editing)));
    setEditing(null);
  }, [isMissing]);

  return (
    <section className="section columns-section" aria-labelledby="columns" ref={section}>
      <SectionHeader title={texts.columns.heading} id="columns">
        {rows.length > 0 && (
          <span className="hint" role="status">
            {!isFiltered(filter)
              ? `${texts.columns.count(rows.length)} · ${texts.columns.documented(documented)}`
              : texts.columns.shown(shown.length, rows.length)}
          </span>
        )}
        {rows.length >= MIN_ROWS_FOR_FILTER && (
          <input
            type="search"
            className="column-filter"
            aria-label={texts.columns.filter}
            placeholder={texts.columns.filter}
            value={filter.text}
            onChange={(event) => applyFilter({ ...filter, text: event.target.value })}
          />
        )}
        {(documented < rows.length || filter.isUndocumentedOnly) && (
          <label className="column-check">
            <input
              type="checkbox"
              checked={filter.isUndocumentedOnly}
              onChange={(event) =>
                applyFilter({ ...filter, isUndocumentedOnly: event.target.checked })
              }
            />
            {texts.columns.undocumentedOnly}
          </label>
        )}
      </SectionHeader>
      {isPending && <Skeleton lines={8} />}
      {read.isLoadingError && <ErrorMessage error={read.error} retry={() => void read.refetch()} />}
      <StaleNotice read={read} />
      {unsaved.length > 0 && (
        <p className="notice" role="status">
          {texts.columns.notSaved(unsaved.length)}
        </p>
      )}
      {unsaved
        .filter(([path]) => !paths.has(path))
        .map(([path, state]) => (
          <OrphanedDraft key={path} path={path} text={state.text} onDiscard={saves.discard} />
        ))}
      {read.isSuccess && !isPending && rows.length === 0 && (
        <p className="hint">{texts.columns.noSchema}</p>
      )}
      {rows.length > 0 && shown.length === 0 && filter.text.trim() !== "" && (
        <p className="hint">{texts.columns.none(filter.text)}</p>
      )}
      {shown.length > 0 && (
        <ColumnTable
          urn={urn}
          rows={shown}
          details={details}
          right={right}
          canLabel={labelRights.tags !== "none" || labelRights.terms !== "none"}
          pending={pending}
          collapsed={collapsed}
          editing={editing}
          highlighted={highlighted}
          states={saves.states}
          actions={{
            onEdit: edit,
            onLabel: setLabeled,
            onToggle: (path) => setCollapsed((before) => toggled(before, path)),
            onChange: (path, changed) => {
              draft.current = changed === null ? null : [path, changed];
              saves.storeDraft(path, changed);
            },
            onSave: saves.save,
            onDiscard: saves.discard,
          }}
        />
      )}
      {/* Below the rows, which stay after they were edited: they must not move. */}
      {filter.isUndocumentedOnly && rows.length > 0 && documented === rows.length && (
        <p className="hint">{texts.columns.allDocumented}</p>
      )}
      {labeled !== null && (
        <ColumnLabelsDialog
          urn={urn}
          path={labeled}
          detail={details.get(labeled)}
          rights={labelRights}
          onClose={() => setLabeled(null)}
        />
      )}
    </section>
  );
}

const NO_ROWS: ReadonlySet<string> = new Set();

/** Rows with unsaved text, which stay visible under any filter. */
function pinnedRows(
  states: ReadonlyMap<string, SaveState>,
  editing: string | null,
): ReadonlySet<string> {
  const pinned = [...states].filter(([, save]) => save.state !== "saving").map(([path]) => path);
  if (editing !== null) pinned.push(editing);
  return pinned.length === 0 ? NO_ROWS : new Set(pinned);
}

function toggled(before: ReadonlySet<string>, path: string): ReadonlySet<string> {
  const next = new Set(before);
  if (!next.delete(path)) next.add(path);
  return next;
}

interface OrphanedDraftProperties {
  readonly path: string;
  readonly text: string;
  readonly onDiscard: (path: string) => void;
}

/** Unsaved text for a column that no longer exists. */
function OrphanedDraft({ path, text, onDiscard }: OrphanedDraftProperties) {
  return (
    <div className="error-message" role="alert">
      <p>{texts.columns.missing(readablePath(path))}</p>
      <Markdown text={text} />
      <div className="editor-actions">
        <CopyButton text={text} label={texts.columns.copy} />
        <button type="button" className="dangerous" onClick={() => onDiscard(path)}>
          {texts.columns.discard}
        </button>
      </div>
    </div>
  );
}

interface TableProperties {
  readonly urn: string;
  readonly rows: readonly ColumnRow[];
  readonly details: Details;
  readonly right: Right;
  readonly canLabel: boolean;
  /** What to say about pending proposals, by column. */
  readonly pending: ReadonlyMap<string, string>;
  readonly collapsed: ReadonlySet<string>;
  /** The column being edited. */
  readonly editing: string | null;
  /** The column that the address names. */
  readonly highlighted: string | null;
  readonly states: ReadonlyMap<string, SaveState>;
  readonly actions: Omit<ColumnActions, "onClose" | "onEdit" | "onFollow"> & {
    readonly onEdit: (path: string | null) => void;
  };
}

interface RenderedRow {
  readonly index: number;
  /** The distance from the start of the page, in a virtualized table. */
  readonly start?: number;
}

/** A table, virtualized if it is long: a dataset may have thousands of columns. */
function ColumnTable({
  urn,
  rows,
  details,
  right,
  canLabel,
  pending,
  collapsed,
  editing,
  highlighted,
  states,
  actions,
}: TableProperties) {
  const body = useRef<HTMLDivElement>(null);
  const [offset, setOffset] = useState(0);
  // The content above the table changes its height during edits.
  useLayoutEffect(() => {
    const measure = () =>
      setOffset((body.current?.getBoundingClientRect().top ?? 0) + window.scrollY);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, []);
  const isPrinting = usePrinting();
  const isVirtual = rows.length > MAX_RENDERED_ROWS && !isPrinting;
  const editingIndex = editing === null ? -1 : rows.findIndex((row) => row.path === editing);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ROW_HEIGHT,
    overscan: OVERSCAN_ROWS,
    scrollMargin: offset,
    scrollPaddingStart: STICKY_HEIGHT,
    getItemKey: (index) => rows[index]?.path ?? index,
    // Keep the edited row mounted, however far the user scrolls.
    rangeExtractor: (range) => {
      const near = defaultRangeExtractor(range);
      if (editingIndex < 0 || near.includes(editingIndex)) return near;
      return [...near, editingIndex].sort((left, right) => left - right);
    },
  });
  const rendered: readonly RenderedRow[] = isVirtual
    ? virtual.getVirtualItems()
    : rows.map((_, index) => ({ index }));
  useStickToEnd(rows, virtual.getTotalSize());
  const [, navigate] = useLocation();
  const current = useRef({ rows, editing, virtual, isVirtual, actions, navigate });
  current.current = { rows, editing, virtual, isVirtual, actions, navigate };
  const scrollTo = (index: number, block: "nearest" | "center") => {
    if (current.current.isVirtual)
      current.current.virtual.scrollToIndex(index, { align: block === "center" ? block : "auto" });
    else body.current?.children[index]?.scrollIntoView({ block });
  };
  useEffect(() => {
    const index = current.current.rows.findIndex((row) => row.path === highlighted);
    if (index >= 0) scrollTo(index, "center");
  }, [highlighted]);
  const columnActions = useMemo<ColumnActions>(
    () => ({
      onEdit: (path) => current.current.actions.onEdit(path),
      onLabel: (path) => current.current.actions.onLabel(path),
      onToggle: (path) => current.current.actions.onToggle(path),
      onChange: (path, draft) => current.current.actions.onChange(path, draft),
      onSave: (path, draft) => current.current.actions.onSave(path, draft),
      onDiscard: (path) => current.current.actions.onDiscard(path),
      onFollow: (event) => {
        const isForBrowser = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
        const address = event.currentTarget.getAttribute("href");
        if (isForBrowser || event.button !== 0 || address === null) return;
        event.preventDefault();
        current.current.navigate(address);
      },
      onClose: (path, target) => {
        // The user has already opened another column.
        if (current.current.editing !== path) return;
        const index = current.current.rows.findIndex((row) => row.path === path);
        const to = target === "next" ? index + 1 : target === "previous" ? index - 1 : -1;
        const next = current.current.rows[to];
        current.current.actions.onEdit(next?.path ?? null);
        if (next !== undefined) scrollTo(to, "nearest");
      },
    }),
    [],
  );

  return (
    <div
      role="table"
      className="columns"
      style={ROW_ICONS}
      aria-labelledby="columns"
      aria-rowcount={rows.length + 1}
    >
      <div role="rowgroup" className="columns-sticky">
        <div role="row" className="column columns-header" aria-rowindex={1}>
          <div role="columnheader">{texts.columns.name}</div>
          <div role="columnheader">
            {texts.columns.type}
            {hasShares(details) && (
              <span className="shares-legend">{texts.columns.sharesLegend}</span>
            )}
          </div>
          <div role="columnheader">{texts.columns.description}</div>
        </div>
      </div>
      <div
        role="rowgroup"
        ref={body}
        className="columns-body"
        data-virtual={isVirtual}
        style={isVirtual ? { blockSize: virtual.getTotalSize() } : undefined}
      >
        {rendered.map(({ index, start }) => {
          const row = rows[index];
          if (row === undefined) return null;
          return (
            <div
              key={row.path}
              ref={isVirtual ? virtual.measureElement : undefined}
              role="row"
              className="column"
              data-index={index}
              data-highlighted={row.path === highlighted}
              aria-rowindex={index + 2}
              aria-busy={states.get(row.path)?.state === "saving"}
              style={
                start === undefined ? undefined : { transform: `translateY(${start - offset}px)` }
              }
            >
              <ColumnCells
                urn={urn}
                row={row}
                detail={details.get(row.path)}
                isEditing={editing === row.path}
                isCollapsed={collapsed.has(row.path)}
                right={right}
                canLabel={canLabel}
                pending={pending.get(row.path)}
                save={states.get(row.path)}
                actions={columnActions}
              />
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** Whether the page is being printed. */
function usePrinting(): boolean {
  const [isPrinting, setPrinting] = useState(false);
  useEffect(() => {
    // The browser takes its picture as soon as the listeners return.
    const before = () => flushSync(() => setPrinting(true));
    const after = () => setPrinting(false);
    window.addEventListener("beforeprint", before);
    window.addEventListener("afterprint", after);
    return () => {
      window.removeEventListener("beforeprint", before);
      window.removeEventListener("afterprint", after);
    };
  }, []);
  return isPrinting;
}

const scrollToEnd = () => window.scrollTo(0, document.documentElement.scrollHeight);

/** Keeps the page at its end when rows turn out to be taller than estimated. */
function useStickToEnd(rows: readonly ColumnRow[], size: number): void {
  const isAtEnd = useRef(false);
  useEffect(() => {
    const onScroll = () => {
      const { scrollHeight } = document.documentElement;
      isAtEnd.current = window.scrollY + window.innerHeight >= scrollHeight - END_TOLERANCE;
    };
    // Smooth scrolling would stop at the estimated end.
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== "End" || event.shiftKey || event.altKey || isHandledElsewhere(event))
        return;
      event.preventDefault();
      isAtEnd.current = true;
      scrollToEnd();
    };
    // Capturing, to run before rows that are rendered on scroll move the end.
    window.addEventListener("scroll", onScroll, { passive: true, capture: true });
    window.addEventListener("keydown", onKeyDown);
    return () => {
      window.removeEventListener("scroll", onScroll, { capture: true });
      window.removeEventListener("keydown", onKeyDown);
    };
  }, []);
  // Different rows have a different end.
  useLayoutEffect(() => void (isAtEnd.current = false), [rows]);
  useLayoutEffect(() => {
    if (isAtEnd.current) scrollToEnd();
  }, [size]);
}
