// Markdown where there is room for one line only: its signs go, its words stay. It is not parsed, because the page that shows
// results should not wait for a parser; what is left of a sign here and there harms nobody.

const RULES: ReadonlyArray<readonly [RegExp, string]> = [
  // Lines that only draw: fences, rules, the line below the head of a table.
  [/^[ \t]*(?:`{3,}|~{3,})[^\n]*$/gm, " "],
  [/^[ \t]*(?:[-*_=][ \t]*){3,}$/gm, " "],
  [/^[ \t]*[-|:][-|: \t]*$/gm, " "],
  // What a line begins with: headings, quotes, lists, tasks.
  [/^[ \t]*(?:>[ \t]?)+/gm, ""],
  [/^[ \t]*#{1,6}[ \t]+/gm, ""],
  [/^[ \t]*(?:[-+*]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?/gm, ""],
  // The cells of a table.
  [/^[ \t]*\||\|[ \t]*$/gm, " "],
  [/[ \t]+\|[ \t]+/g, " · "],
  // Links and pictures are their words.
  [/!?\[([^\]\n]*)\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)/g, "$1"],
  [/!?\[([^\]\n]+)\]\[[^\]\n]*\]/g, "$1"],
  [/<((?:https?:|mailto:)[^>\s]+)>/g, "$1"],
  // Emphasis and code.
  [/(?<!\\)(\*{1,3}|~~)(?=\S)([^*~\n]*?\S)\1/g, "$2"],
  [/(?<![\p{L}\p{N}_])(_{1,3})(?=\S)([^\n]*?\S)\1(?![\p{L}\p{N}_])/gu, "$2"],
  [/`+([^`\n]+)`+/g, "$1"],
  // Signs that are meant as they are.
  [/\\([!-/:-@[-`{-~])/g, "$1"],
  [/\s+/g, " "],
];

/** The words of a Markdown text, on one line. */
export function plainText(markdown: string): string {
  return RULES.reduce((text, [sign, word]) => text.replace(sign, word), markdown).trim();
}

/** Letters that nobody writes (of Unicode's private area) around the pieces that are to be found again. */
const BEGIN = "\u{E000}";
const END = "\u{E001}";

export interface Piece {
  readonly text: string;
  readonly matched: boolean;
}

/** The same for a text in pieces, some of which are marked: the marks stay where they are. */
export function plainPieces(pieces: readonly Piece[]): Piece[] {
  const whole = pieces.map((piece) => (piece.matched ? `${BEGIN}${piece.text}${END}` : piece.text)).join("");
  return plainText(whole)
    .split(new RegExp(`(${BEGIN}[^${END}]*${END})`))
    .filter((text) => text !== "")
    .map((text) => ({ text: text.replace(/[\u{E000}\u{E001}]/gu, ""), matched: text.startsWith(BEGIN) }));
}
