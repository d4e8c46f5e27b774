// Exports entities, or the columns of datasets, as a CSV file: read in pages, and put together in
// the browser.

import { run } from "../api/client.ts";
import { BulkColumnsDocument } from "../generated/operations.ts";
import { locationOf, nameOf, type Nameable } from "../names.ts";
import {
  COLUMN_HEADER,
  ENTITY_FIELDS,
  ENTITY_HEADER,
  formatChecks,
  formatValue,
} from "./csv_cells.ts";
import { formatHeader, formatRow } from "../components/csv.ts";
import { MAX_ROWS } from "./csv_cells.ts";
import { columnsOf } from "./column_states.ts";
import { chunks } from "./read_pages.ts";
import { READ_SIZE, readStates, type EntityState, type Names } from "./entity_state.ts";

export interface Export {
  readonly parts: readonly string[];
  readonly rows: number;
  readonly isTruncated: boolean;
}

interface Options {
  readonly signal: AbortSignal;
  readonly onProgress: (done: number) => void;
}

/** Datasets whose columns are read at once: some have thousands. */
const COLUMN_READ_SIZE = 20;

export async function exportEntities(urns: readonly string[], options: Options): Promise<Export> {
  const parts = [formatHeader(ENTITY_HEADER)];
  let done = 0;
  for (const page of chunks(urns, READ_SIZE)) {
    const { byUrn, names } = await readStates(page, options.signal);
    for (const urn of page) {
      const state = byUrn.get(urn);
      if (state !== undefined) parts.push(formatRow(entityCells(state, names)));
    }
    done += page.length;
    options.onProgress(done);
  }
  return { parts, rows: parts.length - 1, isTruncated: false };
}

function entityCells(state: EntityState, names: Names): readonly string[] {
  const { values, entity } = state;
  const fields = ENTITY_FIELDS.map((field) => values[field]);
  return [
    state.urn,
    state.type.toLowerCase(),
    state.name,
    "platform" in entity && entity.platform !== undefined ? nameOf(entity.platform) : "",
    "parentContainers" in entity ? locationOf(entity) : "",
    ...ENTITY_FIELDS.map((field) => formatValue(field, values[field], names)),
    "imported" in entity ? (entity.imported?.description ?? "") : "",
    values.deprecation ? values.deprecation.note || "yes" : "",
    formatChecks(fields),
  ];
}

export async function exportColumns(urns: readonly string[], options: Options): Promise<Export> {
  const parts = [formatHeader(COLUMN_HEADER)];
  let done = 0;
  for (const page of chunks(urns, COLUMN_READ_SIZE)) {
    const reply = await run(BulkColumnsDocument, { urns: page }, options.signal);
    for (const entity of reply.entities ?? []) {
      if (entity === null || !("schemaMetadata" in entity)) continue;
      const dataset = [
        entity.urn,
        nameOf(entity as Nameable),
        nameOf(entity.platform),
        locationOf(entity),
      ];
      for (const column of columnsOf(entity)) {
        if (parts.length > MAX_ROWS) return { parts, rows: parts.length - 1, isTruncated: true };
        parts.push(
          formatRow([
            ...dataset,
            column.path,
            column.type,
            column.edited,
            column.imported,
            formatChecks([column.edited]),
          ]),
        );
      }
    }
    done += page.length;
    options.onProgress(done);
  }
  return { parts, rows: parts.length - 1, isTruncated: false };
}
