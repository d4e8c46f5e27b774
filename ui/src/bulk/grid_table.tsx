import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { readablePath } from "../dataset/field_path.ts";
import { bulkTexts } from "../bulk_texts.ts";
import { texts } from "../texts.ts";
import type { GridRow } from "./column_search.ts";
import type { GridDrafts } from "./grid_drafts.ts";
import { TableScroll } from "../components/table_scroll.tsx";

interface TableProperties {
  readonly rows: readonly GridRow[];
  readonly drafts: GridDrafts;
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (chosen: ReadonlySet<string>) => void;
  readonly onFill: (text: string) => void;
}

/** The columns with an editable description each. */
export function GridTable({ rows, drafts, chosen, onChoose, onFill }: TableProperties) {
  const words = bulkTexts.grid;
  const editable = rows.filter(({ permission }) => permission !== "none");
  const isAll = editable.length > 0 && editable.every(({ key }) => chosen.has(key));
  const toggle = (keys: readonly string[], isOn: boolean) => {
    const next = new Set(chosen);
    for (const key of keys) {
      if (isOn) next.add(key);
      else next.delete(key);
    }
    onChoose(next);
  };
  return (
    <TableScroll>
      <table className="data-table stacked bulk-table">
        <thead>
          <tr>
            <th scope="col">
              <input
                type="checkbox"
                className="select-box"
                aria-label={words.selectAll}
                checked={isAll}
                disabled={editable.length === 0}
                onChange={(event) =>
                  toggle(
                    editable.map(({ key }) => key),
                    event.target.checked,
                  )
                }
              />
              {words.dataset}
            </th>
            <th scope="col">{words.type}</th>
            <th scope="col">{words.description}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.key}>
              <th scope="row">
                {row.permission !== "none" && (
                  <input
                    type="checkbox"
                    className="select-box"
                    aria-label={words.selectRow(row.dataset)}
                    checked={chosen.has(row.key)}
                    onChange={(event) => toggle([row.key], event.target.checked)}
                  />
                )}
                <Link dir="auto" href={addresses.column(row.urn, row.column.path)}>
                  {row.dataset}
                </Link>
                <span className="hint grid-location">
                  {row.platform}
                  {row.location !== "" && ` · ${row.location}`}
                </span>
                <code>{readablePath(row.column.path)}</code>
              </th>
              <td className="hint">{row.column.type}</td>
              <td>
                <GridCell row={row} drafts={drafts} />
                {chosen.size > 0 && textOf(row, drafts) !== "" && (
                  <button
                    type="button"
                    className="subtle"
                    aria-label={words.useLabel(row.dataset)}
                    onClick={() => onFill(textOf(row, drafts))}
                  >
                    {words.use}
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}

/** The description that a row shows: the unsaved one, else the edited or the imported one. */
function textOf(row: GridRow, drafts: GridDrafts): string {
  return drafts.draftOf(row)?.text ?? (row.column.edited || row.column.imported);
}

function GridCell({ row, drafts }: { readonly row: GridRow; readonly drafts: GridDrafts }) {
  const words = bulkTexts.grid;
  const draft = drafts.draftOf(row);
  const { column } = row;
  if (row.permission === "none") {
    return (
      <span className="cell-text" dir="auto" title={words.readOnly}>
        {column.edited || column.imported || <span className="hint">{words.empty}</span>}
      </span>
    );
  }
  const text = draft?.text ?? column.edited;
  const isConflict = draft !== undefined && draft.base !== column.edited;
  return (
    <>
      <textarea
        dir="auto"
        rows={Math.min(6, Math.max(1, text.split("\n").length, Math.ceil(text.length / 70)))}
        aria-label={words.cell(readablePath(column.path), row.dataset)}
        value={text}
        data-changed={draft !== undefined}
        onChange={(event) => drafts.set(row, event.target.value)}
      />
      {column.imported !== "" && column.imported !== text && (
        <p className="hint" dir="auto">
          {words.imported(column.imported)}
        </p>
      )}
      {isConflict && (
        <div className="conflict" role="alert">
          <p>{texts.columns.conflict}</p>
          <p className="cell-text" dir="auto">
            {column.edited || words.empty}
          </p>
          <div className="editor-actions">
            <button type="button" onClick={() => drafts.discard(row)}>
              {texts.columns.useTheirs}
            </button>
            <button type="button" className="dangerous" onClick={() => drafts.rebase(row)}>
              {texts.columns.overwrite}
            </button>
          </div>
        </div>
      )}
    </>
  );
}
