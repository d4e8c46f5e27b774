// The unsaved texts of the column grid. They are stored like those of the dataset page, so that
// neither loses what was typed in the other.

import { useState } from "react";

import { deleteDraft, draftKey, readDraft, saveDraft, type Draft } from "../components/drafts.ts";
import { useUnsaved } from "../components/unsaved.ts";
import type { Result } from "./apply.ts";
import type { GridRow } from "./column_search.ts";

/** A row with its unsaved text. */
export interface GridChange {
  readonly row: GridRow;
  readonly draft: Draft;
}

export interface GridDrafts {
  readonly changed: readonly GridChange[];
  readonly draftOf: (row: GridRow) => Draft | undefined;
  readonly set: (row: GridRow, text: string) => void;
  /** Keeps the text, to replace what is saved by now. */
  readonly rebase: (row: GridRow) => void;
  readonly discard: (row: GridRow) => void;
  readonly clear: () => void;
  /** Forgets the texts that were saved. */
  readonly settle: (results: readonly Result[]) => void;
}

export function useGridDrafts(user: string, rows: readonly GridRow[]): GridDrafts {
  // The stored drafts are the state; the counter renders their changes.
  const [, setVersion] = useState(0);
  const changedNow = () => setVersion((version) => version + 1);
  const keyOf = (row: { readonly urn: string; readonly path: string }) =>
    draftKey(user, row.urn, row.path);
  const [drafts] = useState(() => new Map<string, Draft>());
  const [restored] = useState(() => new Set<string>());
  for (const row of rows) {
    if (restored.has(row.key)) continue;
    restored.add(row.key);
    const stored = readDraft(keyOf({ urn: row.urn, path: row.column.path }));
    if (stored !== null && row.permission !== "none") drafts.set(row.key, stored);
  }
  const store = (row: GridRow, draft: Draft | null) => {
    const key = keyOf({ urn: row.urn, path: row.column.path });
    if (draft === null) {
      drafts.delete(row.key);
      deleteDraft(key);
    } else {
      drafts.set(row.key, draft);
      saveDraft(key, draft);
    }
    changedNow();
  };
  const changed = rows.flatMap((row) => {
    const draft = drafts.get(row.key);
    return draft === undefined ? [] : [{ row, draft }];
  });
  const clear = () => changed.forEach(({ row }) => store(row, null));
  useUnsaved(() => drafts.size > 0, { onDiscard: clear });
  return {
    changed,
    draftOf: (row) => drafts.get(row.key),
    set: (row, text) => {
      if (row.permission === "none") return;
      const base = drafts.get(row.key)?.base ?? row.column.edited;
      store(row, text === base && base === row.column.edited ? null : { text, base });
    },
    rebase: (row) => {
      const draft = drafts.get(row.key);
      if (draft !== undefined) store(row, { text: draft.text, base: row.column.edited });
    },
    discard: (row) => store(row, null),
    clear,
    settle: (results) => {
      for (const { edit, outcome } of results) {
        if (edit.facet !== "column") continue;
        if (!["done", "proposed", "unchanged"].includes(outcome.kind)) continue;
        drafts.delete(`${edit.urn} ${edit.path}`);
        deleteDraft(keyOf(edit));
      }
      changedNow();
    },
  };
}
