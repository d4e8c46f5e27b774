import { useState } from "react";

import { Dialog } from "../components/dialog.tsx";
import { TableScroll } from "../components/table_scroll.tsx";
import { readablePath } from "../dataset/field_path.ts";
import { bulkTexts } from "../bulk_texts.ts";
import type { Result } from "./apply.ts";
import type { ColumnEdit } from "./edits.ts";
import type { GridChange } from "./grid_drafts.ts";
import { RunView } from "./run_view.tsx";

interface ReviewProperties {
  readonly changes: readonly GridChange[];
  readonly onSaved: (results: readonly Result[]) => void;
  readonly onClose: () => void;
}

/** Shows all changes of the grid before they are saved. */
export function ReviewDialog({ changes, onSaved, onClose }: ReviewProperties) {
  const words = bulkTexts.grid;
  const [edits, setEdits] = useState<readonly ColumnEdit[] | null>(null);
  if (edits !== null) {
    return (
      <Dialog title={words.reviewTitle} isOpen onClose={onClose} isWide>
        <RunView edits={edits} onClose={onClose} onFinished={onSaved} />
      </Dialog>
    );
  }
  return (
    <Dialog title={words.reviewTitle} isOpen onClose={onClose} isWide>
      <TableScroll label={words.reviewTitle}>
        <table className="data-table stacked bulk-table">
          <thead>
            <tr>
              <th scope="col">{words.dataset}</th>
              <th scope="col">{words.was}</th>
              <th scope="col">{words.willBe}</th>
            </tr>
          </thead>
          <tbody>
            {changes.map(({ row, draft }) => (
              <tr key={row.key}>
                <th scope="row" dir="auto">
                  {row.dataset} <code>{readablePath(row.column.path)}</code>
                </th>
                <td className="cell-text" dir="auto">
                  {draft.base || <span className="hint">{words.empty}</span>}
                </td>
                <td className="cell-text" dir="auto">
                  {draft.text || <span className="hint">{words.empty}</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableScroll>
      <div className="dialog-actions">
        <button type="button" onClick={onClose}>
          {words.back}
        </button>
        <button type="button" className="primary" onClick={() => setEdits(changes.map(editOf))}>
          {words.save(changes.length)}
        </button>
      </div>
    </Dialog>
  );
}

const editOf = ({ row, draft }: GridChange): ColumnEdit => ({
  urn: row.urn,
  name: row.dataset,
  facet: "column",
  path: row.column.path,
  before: draft.base,
  after: draft.text,
  permission: row.permission,
});
