// Compares an imported file with the catalog: what it changes, what it leaves, and what is wrong
// with it. Writes nothing.

import { run } from "../api/client.ts";
import { BulkColumnsDocument } from "../generated/operations.ts";
import { nameOf, type Nameable } from "../names.ts";
import { csvTexts } from "../csv_texts.ts";
import { columnPermission, columnsOf, type DatasetColumns } from "./column_states.ts";
import {
  COLUMN_HEADER,
  ENTITY_FIELDS,
  ENTITY_HEADER,
  NONE,
  checkOf,
  formatValue,
  parseChecks,
  type EntityField,
} from "./csv_cells.ts";
import { References, ReferenceError } from "./csv_references.ts";
import { referencesOf, valueOfCell } from "./csv_values.ts";
import { OpenQuoteError, parseRows, type CsvRow } from "../components/csv.ts";
import { MAX_ROWS } from "./csv_cells.ts";
import type { Edit } from "./edits.ts";
import { readStates, type EntityState } from "./entity_state.ts";
import { readPages, type RejectedUrns } from "./read_pages.ts";
import { canonical, normalizeText, type Facet, type Values } from "./values.ts";

/** One value that the file changes. */
export interface FieldChange {
  readonly line: number;
  readonly name: string;
  readonly field: string;
  readonly before: string;
  readonly after: string;
  readonly edit: Edit;
}

export interface InvalidRow {
  readonly line: number;
  readonly name: string;
  readonly problems: readonly string[];
}

export interface ImportPlan {
  readonly changes: readonly FieldChange[];
  /** Changes of values that were also changed in the catalog since the export. */
  readonly conflicts: readonly FieldChange[];
  readonly invalid: readonly InvalidRow[];
  readonly unchangedRows: number;
  /** Cells that were emptied since the export. */
  readonly emptied: number;
  /** Whether the file tells what it was exported with. */
  readonly isChecked: boolean;
  readonly ignored: readonly string[];
}

/** A file that can't be compared at all; the message is for the user. */
export class FileError extends Error {}

interface Options {
  readonly signal: AbortSignal;
  readonly onProgress: (done: number, total: number) => void;
}

/** Texts of this length were probably cut off by a spreadsheet. */
const SPREADSHEET_LIMIT = 32_767;
const COLUMN_READ_SIZE = 20;

interface FileRow {
  readonly line: number;
  readonly urn: string;
  /** The cells by the name of their column. */
  readonly cells: ReadonlyMap<string, string>;
  readonly problems: string[];
}

export async function planImport(file: string, options: Options): Promise<ImportPlan> {
  const rows = parse(file);
  const [header] = rows;
  if (header === undefined) throw new FileError(csvTexts.problems.empty);
  const names = header.cells.map((name) => name.trim().toLowerCase());
  if (!names.includes("urn")) throw new FileError(csvTexts.problems.noUrn);
  const isColumns = names.includes("column");
  const known = isColumns ? COLUMN_HEADER : ENTITY_HEADER;
  const fields = (isColumns ? ["description"] : ENTITY_FIELDS).filter((field) =>
    names.includes(field),
  );
  if (fields.length === 0) throw new FileError(csvTexts.problems.noFields);
  const content = rows.slice(1);
  if (content.length > MAX_ROWS) throw new FileError(csvTexts.problems.tooManyRows(MAX_ROWS));
  const plan = new PlanBuilder(
    names.includes("check"),
    names.filter((name) => name !== "" && !known.includes(name)),
  );
  const parsed = fileRows(content, names, isColumns);
  if (isColumns) await compareColumns(parsed, plan, options);
  else await compareEntities(parsed, fields as readonly EntityField[], plan, options);
  return plan.finish();
}

function parse(file: string): readonly CsvRow[] {
  try {
    return parseRows(file);
  } catch (error) {
    if (error instanceof OpenQuoteError)
      throw new FileError(csvTexts.problems.openQuote(error.line));
    throw error;
  }
}

/** The rows by the names of their columns, with what is wrong with their form. */
function fileRows(
  rows: readonly CsvRow[],
  names: readonly string[],
  isColumns: boolean,
): readonly FileRow[] {
  const { problems } = csvTexts;
  const lines = new Map<string, number>();
  return rows.map(({ line, cells }) => {
    const byName = new Map(names.map((name, index) => [name, cells[index] ?? ""]));
    const urn = (byName.get("urn") ?? "").trim();
    const found: string[] = [];
    // Spreadsheets may leave out empty cells at the end.
    if (cells.length > names.length) found.push(problems.cells(cells.length, names.length));
    if (!/^urn:li:\w+:./.test(urn)) found.push(problems.urn(urn));
    const key = isColumns ? `${urn} ${byName.get("column")}` : urn;
    const first = lines.get(key);
    if (first !== undefined) found.push(problems.duplicate(first));
    else lines.set(key, line);
    return { line, urn, cells: byName, problems: found };
  });
}

/** Collects what the comparison finds. */
class PlanBuilder {
  readonly #changes: FieldChange[] = [];
  readonly #conflicts: FieldChange[] = [];
  readonly #invalid: InvalidRow[] = [];
  #unchangedRows = 0;
  #emptied = 0;
  readonly #isChecked: boolean;
  readonly #ignored: readonly string[];

  constructor(isChecked: boolean, ignored: readonly string[]) {
    this.#isChecked = isChecked;
    this.#ignored = ignored;
  }

  /** Adds the changes of a row, unless it has problems: then it changes nothing. */
  add(row: FileRow, name: string, compared: readonly Compared[]): void {
    this.#emptied += compared.filter(({ kind }) => kind === "emptied").length;
    if (row.problems.length > 0) {
      this.#invalid.push({ line: row.line, name, problems: row.problems });
      return;
    }
    const changes = compared.flatMap((result) => ("change" in result ? [result] : []));
    for (const { kind, change } of changes)
      (kind === "conflict" ? this.#conflicts : this.#changes).push(change);
    if (changes.length === 0) this.#unchangedRows += 1;
  }

  finish(): ImportPlan {
    return {
      changes: this.#changes,
      conflicts: this.#conflicts,
      invalid: this.#invalid,
      unchangedRows: this.#unchangedRows,
      emptied: this.#emptied,
      isChecked: this.#isChecked,
      ignored: this.#ignored,
    };
  }
}

type Compared =
  | { readonly kind: "unchanged" | "emptied" }
  | { readonly kind: "changed" | "conflict"; readonly change: FieldChange };

/** What a cell does to a value, given the check of the value that was exported. */
function effectOf(
  after: Values[Facet],
  current: Values[Facet],
  check: string | undefined,
): "unchanged" | "changed" | "conflict" {
  if (canonical(after) === canonical(current)) return "unchanged";
  if (check === undefined || check === "") return "changed";
  // The cell is as it was exported, so the catalog has the newer value.
  if (checkOf(after) === check) return "unchanged";
  return checkOf(current) === check ? "changed" : "conflict";
}

const isEmptied = (check: string | undefined, empty: Values[Facet]) =>
  check !== undefined && check !== "" && check !== checkOf(empty);

async function compareEntities(
  rows: readonly FileRow[],
  fields: readonly EntityField[],
  plan: PlanBuilder,
  { signal, onProgress }: Options,
): Promise<void> {
  const valid = rows.filter(({ problems }) => problems.length === 0);
  const { byUrn, names, rejected } = await readStates(
    valid.map(({ urn }) => urn),
    signal,
    (done) => onProgress(done, rows.length),
  );
  const references = new References(names);
  const cells = valid.flatMap((row) =>
    fields.map((field) => [field, (row.cells.get(field) ?? "").trim()] as const),
  );
  await references.load(
    cells.flatMap(([field, cell]) => referencesOf(field, cell)),
    signal,
  );
  for (const row of rows) {
    const state = byUrn.get(row.urn);
    if (state === undefined) {
      if (isValid(row)) row.problems.push(missingProblem(row.urn, rejected));
      plan.add(row, row.cells.get("name") || row.urn, []);
      continue;
    }
    const checks = parseChecks(row.cells.get("check") ?? "");
    const compared = fields.map((field) =>
      compareField(row, field, state, checks?.[ENTITY_FIELDS.indexOf(field)], references),
    );
    plan.add(row, state.name, compared);
  }
}

function compareField(
  row: FileRow,
  field: EntityField,
  state: EntityState,
  check: string | undefined,
  references: References,
): Compared {
  const { problems, fields } = csvTexts;
  const label = fields[field] ?? field;
  const raw = row.cells.get(field) ?? "";
  const current = state.values[field];
  if (raw.trim() === "") {
    const empty = emptyValue(field);
    return { kind: isEmptied(check, empty) ? "emptied" : "unchanged" };
  }
  if (current === undefined) {
    row.problems.push(problems.notApplicable(label));
    return { kind: "unchanged" };
  }
  let after: Values[Facet];
  try {
    after = raw.trim() === NONE ? emptyValue(field) : valueOfCell(field, label, raw, references);
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    row.problems.push(error.message);
    return { kind: "unchanged" };
  }
  const kind = effectOf(after, current, check);
  if (kind === "unchanged") return { kind };
  if (raw.length === SPREADSHEET_LIMIT) row.problems.push(problems.cut(label));
  const permission = state.permissions[field];
  if (permission === "none") row.problems.push(problems.notAllowed(label));
  const edit = {
    urn: state.urn,
    name: state.name,
    facet: field,
    before: current,
    after,
    permission,
  } as Edit;
  const textOf = (value: Values[Facet]) => formatValue(field, value, references.names);
  const change = {
    line: row.line,
    name: state.name,
    field,
    before: textOf(current),
    after: textOf(after),
    edit,
  };
  return { kind, change };
}

function emptyValue(field: EntityField): Values[Facet] {
  if (field === "domain") return null;
  return field === "description" ? "" : [];
}

async function compareColumns(
  rows: readonly FileRow[],
  plan: PlanBuilder,
  { signal, onProgress }: Options,
): Promise<void> {
  const urns = [...new Set(rows.filter(isValid).map(({ urn }) => urn))];
  const datasets = new Map<string, DatasetColumns>();
  const read = async (page: readonly string[]) => {
    const reply = await run(BulkColumnsDocument, { urns: page }, signal);
    for (const entity of reply.entities ?? []) {
      if (entity !== null && "schemaMetadata" in entity) datasets.set(entity.urn, entity);
    }
  };
  const rejected = await readPages(urns, COLUMN_READ_SIZE, read, (done) =>
    onProgress(done, urns.length),
  );
  const columns = new Map(
    [...datasets].map(([urn, dataset]) => [
      urn,
      new Map(columnsOf(dataset).map((column) => [column.path, column])),
    ]),
  );
  for (const row of rows) {
    const dataset = datasets.get(row.urn);
    const name = dataset === undefined ? row.urn : nameOf(dataset as Nameable);
    if (dataset === undefined && isValid(row)) row.problems.push(missingProblem(row.urn, rejected));
    plan.add(row, name, compareColumn(row, name, dataset, columns.get(row.urn)));
  }
}

const isValid = ({ problems }: FileRow) => problems.length === 0;

/** Why the catalog has returned nothing for a row. */
function missingProblem(urn: string, rejected: RejectedUrns): string {
  const reason = rejected.get(urn);
  return reason === undefined
    ? csvTexts.problems.missing
    : csvTexts.problems.invalidUrn(urn, reason);
}

function compareColumn(
  row: FileRow,
  name: string,
  dataset: DatasetColumns | undefined,
  columns: ReadonlyMap<string, { readonly edited: string }> | undefined,
): readonly Compared[] {
  const { problems, fields } = csvTexts;
  if (dataset === undefined || !isValid(row)) return [];
  const path = row.cells.get("column") ?? "";
  const column = columns?.get(path);
  if (column === undefined) {
    row.problems.push(problems.noColumn(path));
    return [];
  }
  const raw = row.cells.get("description") ?? "";
  const check = parseChecks(row.cells.get("check") ?? "")?.[0];
  if (raw.trim() === "") return [{ kind: isEmptied(check, "") ? "emptied" : "unchanged" }];
  const after = raw.trim() === NONE ? "" : normalizeText(raw);
  const kind = effectOf(after, column.edited, check);
  if (kind === "unchanged") return [{ kind }];
  const label = fields["column"] ?? "";
  if (raw.length === SPREADSHEET_LIMIT) row.problems.push(problems.cut(label));
  const permission = columnPermission(dataset);
  if (permission === "none") row.problems.push(problems.notAllowed(label));
  const edit: Edit = {
    urn: row.urn,
    name,
    facet: "column",
    path,
    before: column.edited,
    after,
    permission,
  };
  return [
    { kind, change: { line: row.line, name, field: "column", before: column.edited, after, edit } },
  ];
}
