// CSV (RFC 4180) as text: quoting, and protection against cells that a spreadsheet would run as
// formulas.

/** Spreadsheets recognize UTF-8 by it. */
const BYTE_ORDER_MARK = "\uFEFF";
const DELIMITERS = [",", ";", "\t"];

/** What spreadsheets read as the start of a formula, also behind apostrophes of our own. */
const FORMULA = /^'*[=+\-@\t\r\n]/;
const PROTECTED = /^'+[=+\-@\t\r\n]/;

/** Puts an apostrophe in front of what would be a formula. `unprotect` removes exactly this one. */
export const protect = (cell: string) => (FORMULA.test(cell) ? `'${cell}` : cell);
export const unprotect = (cell: string) => (PROTECTED.test(cell) ? cell.slice(1) : cell);

const quote = (cell: string) => {
  const safe = protect(cell);
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

export const formatRow = (cells: readonly string[]) => `${cells.map(quote).join(",")}\r\n`;

export const formatHeader = (names: readonly string[]) => BYTE_ORDER_MARK + formatRow(names);

/** A whole file. */
export const formatFile = ([header = [], ...rows]: readonly (readonly string[])[]) => [
  formatHeader(header),
  ...rows.map(formatRow),
];

export interface CsvRow {
  /** Where it starts in the file; the first line is 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

/** A file with a quoted cell that never ends. */
export class OpenQuoteError extends Error {
  readonly line: number;

  constructor(line: number) {
    super(`unclosed quote on line ${line}`);
    this.line = line;
  }
}

/** Reads all rows, and leaves out empty ones. Spreadsheets of some languages separate the cells by
 *  semicolons, so the first line decides. */
export function parseRows(file: string): readonly CsvRow[] {
  const text = file.startsWith(BYTE_ORDER_MARK) ? file.slice(1) : file;
  const delimiter = delimiterOf(text);
  const rows: CsvRow[] = [];
  let cells: string[] = [];
  let line = 1;
  let rowLine = 1;
  let position = 0;
  const endRow = () => {
    if (cells.some((cell) => cell !== "")) rows.push({ line: rowLine, cells });
    cells = [];
    rowLine = line;
  };
  while (position < text.length) {
    let cell = "";
    if (text[position] === '"') {
      const start = line;
      let end = text.indexOf('"', position + 1);
      while (end >= 0 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
      if (end < 0) throw new OpenQuoteError(start);
      cell = text.slice(position + 1, end).replaceAll('""', '"');
      line += cell.split("\n").length - 1;
      position = end + 1;
    }
    const rest = position;
    while (position < text.length && !isBoundary(text[position], delimiter)) position += 1;
    cell += text.slice(rest, position);
    cells.push(unprotect(cell));
    if (text[position] === delimiter) {
      position += 1;
      if (position === text.length) cells.push("");
      continue;
    }
    position += text.startsWith("\r\n", position) ? 2 : 1;
    line += 1;
    endRow();
  }
  if (cells.length > 0) endRow();
  return rows;
}

const isBoundary = (character: string | undefined, delimiter: string) =>
  character === delimiter || character === "\n" || character === "\r";

/** The delimiter that occurs most often in the first line. */
function delimiterOf(text: string): string {
  const [first = ""] = text.split(/[\r\n]/, 1);
  const counts = DELIMITERS.map((delimiter) => first.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ",";
}

/** Lets the browser save a file. */
export function saveFile(name: string, parts: readonly string[]): void {
  const url = URL.createObjectURL(new Blob([...parts], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // After the browser has started the download.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
