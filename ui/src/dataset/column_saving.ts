import { useState } from "react";

import { cache } from "../api/cache.ts";
import { Failure, run } from "../api/client.ts";
import {
  ColumnTextDocument,
  ColumnsDocument,
  UpdateDescriptionDocument,
  type ColumnsQuery,
} from "../generated/operations.ts";
import type { ColumnRow } from "./column_rows.ts";

/** How the last attempt to save a column went; nothing when it went well. */
export type Saving =
  | { readonly state: "saving" }
  | { readonly state: "conflict"; readonly mine: string; readonly theirs: string }
  | { readonly state: "failed"; readonly mine: string; readonly message: string };

/** Saves descriptions of columns in the background, so that the next one can be written at once. */
export function useColumnSaving(urn: string) {
  const [states, setStates] = useState<ReadonlyMap<string, Saving>>(new Map());
  const mark = (path: string, saving: Saving | null) =>
    setStates((before) => {
      const next = new Map(before);
      if (saving === null) next.delete(path);
      else next.set(path, saving);
      return next;
    });

  /** Writes what a person typed in place of `previous`. */
  const save = async (row: ColumnRow, text: string, previous = row.written) => {
    if (text === previous) {
      mark(row.path, null);
      return;
    }
    mark(row.path, { state: "saving" });
    show(urn, row.path, text);
    try {
      await run(UpdateDescriptionDocument, {
        input: {
          resourceUrn: urn,
          subResource: row.path,
          subResourceType: "DATASET_FIELD",
          description: text,
          previousDescription: previous,
        },
      });
      mark(row.path, null);
      // Only what tells about the past: the columns themselves are shown as they are now.
      void cache.invalidateQueries({
        predicate: (query) => query.queryKey[0] !== ColumnsDocument.text,
        refetchType: "none",
      });
    } catch (problem) {
      if (problem instanceof Failure && problem.code === 409) {
        const theirs = await storedText(urn, row.path);
        show(urn, row.path, theirs);
        mark(row.path, { state: "conflict", mine: text, theirs });
      } else {
        show(urn, row.path, previous);
        mark(row.path, { state: "failed", mine: text, message: (problem as Error).message });
      }
    }
  };
  return { states, save, forget: (path: string) => mark(path, null) };
}

async function storedText(urn: string, column: string): Promise<string> {
  const found = await run(ColumnTextDocument, { urn, column });
  return found.history.changes[0]?.text ?? "";
}

/** Puts a description into the columns that this page has read. */
function show(urn: string, path: string, description: string): void {
  cache.setQueryData<ColumnsQuery>([ColumnsDocument.text, { urn }], (columns) => {
    const dataset = columns?.dataset;
    if (dataset === null || dataset === undefined) return columns;
    const before = dataset.editableSchemaMetadata?.editableSchemaFieldInfo ?? [];
    const others = before.filter((field) => field.fieldPath !== path);
    const editableSchemaFieldInfo = [...others, { fieldPath: path, description }];
    return { ...columns, dataset: { ...dataset, editableSchemaMetadata: { editableSchemaFieldInfo } } };
  });
}
