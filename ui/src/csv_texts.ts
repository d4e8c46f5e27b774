// The part of texts.ts about CSV files of the catalog.

import { count, plural } from "./text_forms.ts";

export const csvTexts = {
  exportTitle: "Export as CSV",
  exportHint:
    "The file can be edited in a spreadsheet and imported again: it remembers what it was exported with.",
  contents: "Contents",
  entities: "One row for each item: description, domain, owners, tags, terms",
  columns: "One row for each column of the datasets: type and description",
  download: "Export",
  progress: (done: number, total: number) => `${count(done)} of ${count(total)} exported…`,
  finished: (rows: number) => plural(rows, { one: "Exported # row.", other: "Exported # rows." }),
  truncated: (limit: number) =>
    `The file ends after ${count(limit)} rows, the most that can be imported. Select fewer items for the rest.`,

  title: "Import CSV",
  intro:
    "Import a file that was exported here and edited in a spreadsheet. Nothing changes before you have seen the differences.",
  rules: [
    "An empty cell changes nothing. Write (none) to remove a value.",
    "Owners, tags and terms are whole lists, separated by semicolons: what is not in the list is removed.",
    "A tag, a term, a domain or an owner is written by its name, as its URN, or as Name <URN>. An owner can be followed by “as” and the kind of ownership.",
    "Only description, domain, owners, tags and terms are imported, or the description of columns. The other columns of the file are for reading.",
  ],
  limits: (rows: number, megabytes: number) =>
    `At most ${count(rows)} rows and ${count(megabytes)} MB.`,
  choose: "CSV file",
  reading: (done: number, total: number) => `Comparing ${count(done)} of ${count(total)}…`,
  summary: {
    changed: (number: number) =>
      plural(number, { one: "# value will change", other: "# values will change" }),
    unchanged: (number: number) =>
      plural(number, { one: "# row is unchanged", other: "# rows are unchanged" }),
    conflicts: (number: number) =>
      plural(number, {
        one: "# value was changed in the catalog since the export",
        other: "# values were changed in the catalog since the export",
      }),
    invalid: (number: number) =>
      plural(number, { one: "# row has an error", other: "# rows have errors" }),
    emptied: (number: number) =>
      plural(number, {
        one: "# cell was emptied, which changes nothing. Write (none) to remove a value.",
        other: "# cells were emptied, which changes nothing. Write (none) to remove a value.",
      }),
    unchecked:
      "The file has no column “check”. What was changed in the catalog since the export can't be recognized.",
    ignored: (names: string) => `Ignored columns: ${names}`,
  },
  overwrite: "Overwrite values that were changed since the export",
  line: "Line",
  item: "Item",
  field: "Field",
  before: "In the catalog",
  after: "In the file",
  problem: "Problem",
  nothing: "(none)",
  more: (number: number) => `Show ${count(number)} more`,
  errors: "Errors",
  changes: "Changes",
  conflicts: "Conflicts",
  apply: (number: number) => plural(number, { one: "Change # value", other: "Change # values" }),
  noChanges: "The file has no changes",
  fields: {
    description: "Description",
    domain: "Domain",
    owners: "Owners",
    tags: "Tags",
    terms: "Glossary terms",
    column: "Column description",
  } as Record<string, string>,
  problems: {
    tooLarge: (megabytes: number) => `The file is larger than ${count(megabytes)} MB.`,
    tooManyRows: (rows: number) => `The file has more than ${count(rows)} rows.`,
    encoding: "The file is not UTF-8. Save it as “CSV UTF-8”.",
    empty: "The file is empty.",
    openQuote: (line: number) => `The quoted cell that starts on line ${count(line)} never ends.`,
    noUrn: "The file has no column “urn”.",
    noFields:
      "The file has none of the columns description, domain, owners, tags and terms, so there is nothing to import.",
    urn: (urn: string) => `“${urn}” is not a URN`,
    invalidUrn: (urn: string, reason: string) => `“${urn}” is not a valid URN: ${reason}`,
    missing: "It does not exist, or you may not see it",
    noColumn: (path: string) => `The dataset has no column “${path}”`,
    duplicate: (line: number) => `Same as line ${count(line)}`,
    cells: (cells: number, columns: number) =>
      `${count(cells)} cells instead of ${count(columns)}: a separator or a quote may be missing`,
    notAllowed: (field: string) => `${field}: you may not change it`,
    notApplicable: (field: string) => `${field}: this type of item can't have it`,
    unknown: (kind: string, name: string) => `${kind}: “${name}” does not exist`,
    ambiguous: (kind: string, name: string, number: number) =>
      `${kind}: ${count(number)} entries are named “${name}”. Write the URN of the right one`,
    wrongType: (kind: string, urn: string) => `${kind}: “${urn}” has another type`,
    oneDomain: "Domain: only one is possible",
    cut: (field: string) =>
      `${field}: the text has 32,767 characters, where spreadsheets cut it off`,
  },
};
