// The columns of a dataset as table rows, with nested fields below their parent.

import type { ColumnsQuery } from "../generated/operations.ts";
import { segmentsOf } from "./field_path.ts";

export interface ColumnRow {
  readonly path: string;
  /** The name without its parent path. */
  readonly name: string;
  /** The full path without type annotations. */
  readonly readable: string;
  readonly depth: number;
  /** The path of the parent row. */
  readonly parent: string | null;
  readonly hasChildren: boolean;
  readonly type: string;
  readonly isKey: boolean;
  readonly isNullable: boolean;
  /** The imported description. */
  readonly imported: string;
  /** The description edited by users. */
  readonly edited: string;
  /** The text that the filter searches. */
  readonly searchText: string;
}

export function rowsOf(columns: ColumnsQuery | undefined): ColumnRow[] {
  const dataset = columns?.dataset;
  const fields = dataset?.schemaMetadata?.fields ?? [];
  const keys = new Set(dataset?.schemaMetadata?.primaryKeys ?? []);
  const edits = dataset?.editableSchemaMetadata?.editableSchemaFieldInfo ?? [];
  const descriptions = new Map(edits.map((field) => [field.fieldPath, field.description ?? ""]));
  const byReadable = new Map<string, string>();
  const parents = new Set<string>();
  const rows = fields.map((field) => {
    const segments = segmentsOf(field.fieldPath);
    const readable = segments.join(".");
    byReadable.set(readable, field.fieldPath);
    // The nearest ancestor that has a row: some schemas omit levels.
    let depth = 0;
    let parent: string | null = null;
    for (let length = segments.length - 1; length > 0; length -= 1) {
      const ancestor = byReadable.get(segments.slice(0, length).join("."));
      if (ancestor !== undefined) {
        parent ??= ancestor;
        depth += 1;
      }
    }
    const name = parent === null ? readable : (segments.at(-1) ?? readable);
    if (parent !== null) parents.add(parent);
    const edited = descriptions.get(field.fieldPath) ?? "";
    const imported = field.description ?? "";
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
      imported,
      edited,
      searchText: `${readable}\n${edited}\n${imported}`.toLocaleLowerCase(),
    };
  });
  return rows.map((row) => (parents.has(row.path) ? { ...row, hasChildren: true } : row));
}

export interface ColumnFilter {
  readonly text: string;
  readonly isUndocumentedOnly: boolean;
}

export const isFiltered = (filter: ColumnFilter) =>
  filter.text.trim() !== "" || filter.isUndocumentedOnly;

export const isDocumented = (row: ColumnRow) => row.edited !== "" || row.imported !== "";

/** The visible rows: matches with their ancestors when there is a filter, else all rows that are
 *  not collapsed. Rows with unsaved text are `pinned`, which always shows them. */
export function visibleRows(
  rows: readonly ColumnRow[],
  filter: ColumnFilter,
  collapsed: ReadonlySet<string>,
  pinned: ReadonlySet<string>,
): readonly ColumnRow[] {
  if (isFiltered(filter)) {
    const needle = filter.text.trim().toLocaleLowerCase();
    const matches = (row: ColumnRow) =>
      row.searchText.includes(needle) && !(filter.isUndocumentedOnly && isDocumented(row));
    const byPath = new Map(rows.map((row) => [row.path, row]));
    const shown = new Set<string>();
    for (const row of rows) {
      if (!matches(row) && !pinned.has(row.path)) continue;
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
  if (collapsed.size === 0) return rows;
  const hidden = new Set<string>();
  return rows.filter((row) => {
    const isHidden = row.parent !== null && (collapsed.has(row.parent) || hidden.has(row.parent));
    if (isHidden) hidden.add(row.path);
    return !isHidden || pinned.has(row.path);
  });
}
