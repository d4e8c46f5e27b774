import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useDeferredValue, useLayoutEffect, useMemo, useRef, useState } from "react";

import { useRead } from "../api/cache.ts";
import { Problem, Skeleton } from "../components/states.tsx";
import { SectionHead } from "../description/description.tsx";
import { ColumnsDocument } from "../generated/operations.ts";
import { texts } from "../texts.ts";
import { ColumnLine, type LineActions } from "./column_line.tsx";
import { rowsOf, visibleRows, type ColumnRow } from "./column_rows.ts";
import { useColumnSaving } from "./column_saving.ts";
import { useUnsaved } from "../components/unsaved.ts";

const ROW_HEIGHT = 35;
/** Rows above and below the window that are there before one scrolls to them. */
const SPARE_ROWS = 6;
/** A handful of columns is read faster than a filter is typed. */
const WORTH_A_FILTER = 8;

export function Columns({ urn, canEdit }: { readonly urn: string; readonly canEdit: boolean }) {
  const read = useRead(ColumnsDocument, { urn });
  const rows = useMemo(() => rowsOf(read.data), [read.data]);
  const [text, setText] = useState("");
  const filter = useDeferredValue(text);
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const shown = useMemo(() => visibleRows(rows, filter, folded), [rows, filter, folded]);
  const described = useMemo(() => rows.filter((row) => row.written !== "" || row.ingested !== "").length, [rows]);

  return (
    <section className="section" aria-labelledby="columns">
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
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </SectionHead>
      {read.isPending && <Skeleton lines={8} />}
      {read.isError && <Problem error={read.error} retry={() => void read.refetch()} />}
      {read.isSuccess && rows.length === 0 && <p className="hint">{texts.columns.noSchema}</p>}
      {rows.length > 0 && shown.length === 0 && <p className="hint">{texts.columns.none(text)}</p>}
      {shown.length > 0 && (
        <ColumnTable
          urn={urn}
          rows={shown}
          canEdit={canEdit}
          folded={folded}
          onFold={(path) => setFolded((before) => toggled(before, path))}
        />
      )}
    </section>
  );
}

function toggled(before: ReadonlySet<string>, path: string): ReadonlySet<string> {
  const next = new Set(before);
  if (!next.delete(path)) next.add(path);
  return next;
}

interface TableProperties {
  readonly urn: string;
  readonly rows: readonly ColumnRow[];
  readonly canEdit: boolean;
  readonly folded: ReadonlySet<string>;
  readonly onFold: (path: string) => void;
}

/** The rows near the window only: a dataset may have thousands of columns. */
function ColumnTable({ urn, rows, canEdit, folded, onFold }: TableProperties) {
  const body = useRef<HTMLDivElement>(null);
  const [offset, setOffset] = useState(0);
  const [edited, setEdited] = useState<string | null>(null);
  const { states, save, forget } = useColumnSaving(urn);
  useUnsaved([...states.values()].some((saving) => saving.state !== "saving"));
  // What stands above the table changes its height when texts are edited.
  useLayoutEffect(() => {
    const measure = () => setOffset((body.current?.getBoundingClientRect().top ?? 0) + window.scrollY);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, []);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ROW_HEIGHT,
    overscan: SPARE_ROWS,
    scrollMargin: offset,
    getItemKey: (index) => rows[index]?.path ?? index,
  });
  const current = useRef({ rows, save, virtual, onFold, forget });
  current.current = { rows, save, virtual, onFold, forget };
  const actions = useMemo<LineActions>(
    () => ({
      onEdit: setEdited,
      onFold: (path) => current.current.onFold(path),
      onForget: (path) => current.current.forget(path),
      onDecide: (row, text, previous) => void current.current.save(row, text, previous),
      onSave: (row, text, step) => {
        const place = current.current.rows.findIndex((other) => other.path === row.path);
        const next = step === 0 ? undefined : current.current.rows[place + step];
        setEdited((before) => (before === row.path ? (next?.path ?? null) : before));
        if (next !== undefined) current.current.virtual.scrollToIndex(place + step, { align: "auto" });
        void current.current.save(row, text);
      },
    }),
    [],
  );

  return (
    <div role="table" className="columns" aria-labelledby="columns" aria-rowcount={rows.length + 1}>
      <div role="rowgroup">
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
                actions={actions}
              />
            </div>
          );
        })}
      </div>
    </div>
  );
}
