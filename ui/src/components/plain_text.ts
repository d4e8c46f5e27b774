// Markdown as a single line of plain text. Uses regular expressions rather than the parser, to keep
// that out of the first load; an occasional leftover character does no harm.

const RULES: ReadonlyArray<readonly [RegExp, string]> = [
  // Lines without text: fences, thematic breaks, table delimiters.
  [/^[ \t]*(?:`{3,}|~{3,})[^\n]*$/gm, " "],
  [/^[ \t]*(?:[-*_=][ \t]*){3,}$/gm, " "],
  [/^[ \t]*[-|:][-|: \t]*$/gm, " "],
  // Line prefixes: block quotes, headings, lists, tasks.
  [/^[ \t]*(?:>[ \t]?)+/gm, ""],
  [/^[ \t]*#{1,6}[ \t]+/gm, ""],
  [/^[ \t]*(?:[-+*]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?/gm, ""],
  // Table cells.
  [/^[ \t]*\||\|[ \t]*$/gm, " "],
  [/[ \t]+\|[ \t]+/g, " · "],
  // Links and images: keep the text.
  [/!?\[([^\]\n]*)\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)/g, "$1"],
  [/!?\[([^\]\n]+)\]\[[^\]\n]*\]/g, "$1"],
  [/<((?:https?:|mailto:)[^>\s]+)>/g, "$1"],
  // Emphasis and code.
  [/(?<!\\)(\*{1,3}|~~)(?=\S)([^*~\n]*?\S)\1/g, "$2"],
  [/(?<![\p{L}\p{N}_])(_{1,3})(?=\S)([^\n]*?\S)\1(?![\p{L}\p{N}_])/gu, "$2"],
  [/`+([^`\n]+)`+/g, "$1"],
  // Backslash escapes.
  [/\\([!-/:-@[-`{-~])/g, "$1"],
  [/\s+/g, " "],
];

/** Strips the syntax of a Markdown text and joins its lines. */
export function plainText(markdown: string): string {
  return RULES.reduce(
    (text, [pattern, replacement]) => text.replace(pattern, replacement),
    markdown.replaceAll("\r\n", "\n"),
  ).trim();
}

/** Private-use characters that mark the highlighted spans while the text is transformed. */
const BEGIN = "\u{E000}";
const END = "\u{E001}";

const BLANK_LINE = /\r?\n[ \t]*\r?\n/u;

const HEADINGS = /^[ \t]*#{1,6}[ \t][^\n]*$/gmu;

/** The first paragraph, without the headings above it. A text of headings alone stays. */
export function firstParagraph(markdown: string): string {
  const [first = ""] = markdown.replace(HEADINGS, "").trimStart().split(BLANK_LINE);
  return first === "" ? markdown : first;
}

export interface TextSpan {
  readonly text: string;
  readonly matched: boolean;
}

/** The same for a text with highlighted spans, which stay highlighted. */
export function plainSpans(spans: readonly TextSpan[]): TextSpan[] {
  const whole = spans
    .map((span) => (span.matched ? `${BEGIN}${span.text}${END}` : span.text))
    .join("");
  return plainText(whole)
    .split(new RegExp(`(${BEGIN}[^${END}]*${END})`))
    .filter((text) => text !== "")
    .map((text) => ({
      text: text.replace(/[\u{E000}\u{E001}]/gu, ""),
      matched: text.startsWith(BEGIN),
    }));
}

/** A heading in a span that does not end in it. */
const WHOLE_HEADINGS = /^[ \t]*#{1,6}[ \t][^\n]*\n/gmu;

/** The spans up to the end of the paragraph with the first match, without the headings above it. */
export function matchingParagraph(spans: readonly TextSpan[]): TextSpan[] {
  const paragraph: TextSpan[] = [];
  let hasMatch = false;
  for (const original of spans) {
    const span: TextSpan = hasMatch
      ? original
      : { ...original, text: original.text.replace(WHOLE_HEADINGS, "") };
    hasMatch ||= span.matched;
    const end = hasMatch ? span.text.search(BLANK_LINE) : -1;
    if (end >= 0) return [...paragraph, { ...span, text: span.text.slice(0, end) }];
    paragraph.push(span);
  }
  return paragraph;
}
