// Finds the columns of one name, in all datasets.

import { run } from "../api/client.ts";
import { columnName } from "../dataset/field_path.ts";
import { BulkColumnsDocument, ScrollMatchesDocument } from "../generated/operations.ts";
import { locationOf, nameOf, type Nameable } from "../names.ts";
import { chunks } from "./read_pages.ts";
import { columnPermission, columnsOf, type ColumnState } from "./column_states.ts";
import type { Permission } from "./entity_state.ts";

/** More datasets than this are not shown in the grid. */
export const MAX_GRID_DATASETS = 500;
const READ_DATASETS = 20;

export interface GridRow {
  /** What identifies the row. */
  readonly key: string;
  readonly urn: string;
  readonly dataset: string;
  readonly location: string;
  readonly platform: string;
  readonly column: ColumnState;
  readonly permission: Permission;
}

export interface FoundColumns {
  readonly rows: readonly GridRow[];
  readonly datasets: number;
  /** Datasets with such a column, beyond the limit too. */
  readonly total: number;
}

export async function findColumns(name: string, signal: AbortSignal): Promise<FoundColumns> {
  const condition = (value: string, operator: "IEQUAL" | "END_WITH") => ({
    and: [{ field: "fieldPaths", values: [value], condition: operator }],
  });
  const found = await run(
    ScrollMatchesDocument,
    {
      query: "*",
      types: ["DATASET"],
      filters: [condition(name, "IEQUAL"), condition(`.${name}`, "END_WITH")],
      scroll: null,
      count: MAX_GRID_DATASETS,
    },
    signal,
  );
  const results = found.scrollAcrossEntities?.searchResults ?? [];
  const rows: GridRow[] = [];
  for (const page of chunks(results, READ_DATASETS)) {
    const urns = page.map(({ entity }) => entity.urn);
    const reply = await run(BulkColumnsDocument, { urns }, signal);
    for (const entity of reply.entities ?? []) {
      if (entity === null || !("schemaMetadata" in entity)) continue;
      const matching = columnsOf(entity).filter(
        ({ path }) =>
          path.toLocaleLowerCase() === name.toLocaleLowerCase() ||
          columnName(path).toLocaleLowerCase() === name.toLocaleLowerCase(),
      );
      rows.push(
        ...matching.map((column) => ({
          key: `${entity.urn} ${column.path}`,
          urn: entity.urn,
          dataset: nameOf(entity as Nameable),
          location: locationOf(entity),
          platform: nameOf(entity.platform),
          column,
          permission: columnPermission(entity),
        })),
      );
    }
  }
  return {
    rows,
    datasets: new Set(rows.map(({ urn }) => urn)).size,
    total: found.scrollAcrossEntities?.total ?? 0,
  };
}
