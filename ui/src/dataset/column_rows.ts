// The columns of a dataset as the rows of a table: nested fields below the field that they are part of.

import type { ColumnsQuery } from "../generated/operations.ts";
import { stepsOf } from "./field_path.ts";

export interface ColumnRow {
  readonly path: string;
  /** The name without those of the fields around it. */
  readonly name: string;
  /** The whole path, as people read it. */
  readonly readable: string;
  readonly depth: number;
  /** The path of the row that it is nested in. */
  readonly parent: string | null;
  readonly hasChildren: boolean;
  readonly type: string;
  readonly isKey: boolean;
  readonly isNullable: boolean;
  /** What ingestion said. */
  readonly ingested: string;
  /** What people said. */
  readonly written: string;
  /** What the filter looks at. */
  readonly haystack: string;
}

export function rowsOf(columns: ColumnsQuery | undefined): ColumnRow[] {
  const dataset = columns?.dataset;
  const fields = dataset?.schemaMetadata?.fields ?? [];
  const keys = new Set(dataset?.schemaMetadata?.primaryKeys ?? []);
  const edited = dataset?.editableSchemaMetadata?.editableSchemaFieldInfo ?? [];
  const written = new Map(edited.map((field) => [field.fieldPath, field.description ?? ""]));
  const byReadable = new Map<string, string>();
  const parents = new Set<string>();
  const rows = fields.map((field) => {
    const steps = stepsOf(field.fieldPath);
    const readable = steps.join(".");
    byReadable.set(readable, field.fieldPath);
    // The nearest field around it that is a row of its own: some schemas leave levels out.
    let depth = 0;
    let parent: string | null = null;
    for (let length = steps.length - 1; length > 0; length -= 1) {
      const around = byReadable.get(steps.slice(0, length).join("."));
      if (around !== undefined) {
        parent ??= around;
        depth += 1;
      }
    }
    const name = parent === null ? readable : (steps.at(-1) ?? readable);
    if (parent !== null) parents.add(parent);
    const said = written.get(field.fieldPath) ?? "";
    const ingested = field.description ?? "";
    return {
      path: field.fieldPath,
      name,
      readable,
      depth,
      parent,
      hasChildren: false,
      type: field.nativeDataType ?? field.type.toLowerCase(),
      isKey: field.isPartOfKey === true || keys.has(field.fieldPath),
      isNullable: field.nullable,
      ingested,
      written: said,
      haystack: `${readable}\n${said}\n${ingested}`.toLocaleLowerCase(),
    };
  });
  return rows.map((row) => (parents.has(row.path) ? { ...row, hasChildren: true } : row));
}

/** The rows to show: those that match with the fields around them, or else all that are not folded away. Rows that are `held`,
 *  because they have text that is not saved, are shown in any case. */
export function visibleRows(
  rows: readonly ColumnRow[],
  text: string,
  folded: ReadonlySet<string>,
  held: ReadonlySet<string>,
): readonly ColumnRow[] {
  const wanted = text.trim().toLocaleLowerCase();
  if (wanted !== "") {
    const byPath = new Map(rows.map((row) => [row.path, row]));
    const shown = new Set<string>();
    for (const row of rows) {
      if (!row.haystack.includes(wanted) && !held.has(row.path)) continue;
      for (
        let path: string | null = row.path;
        path !== null && !shown.has(path);
        path = byPath.get(path)?.parent ?? null
      ) {
        shown.add(path);
      }
    }
    return rows.filter((row) => shown.has(row.path));
  }
  if (folded.size === 0) return rows;
  const hidden = new Set<string>();
  return rows.filter((row) => {
    const isHidden = row.parent !== null && (folded.has(row.parent) || hidden.has(row.parent));
    if (isHidden) hidden.add(row.path);
    return !isHidden || held.has(row.path);
  });
}
