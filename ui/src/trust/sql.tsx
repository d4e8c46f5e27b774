// SQL with its keywords, strings and comments in colors. A regular expression is enough to read
// it; the parsers of editors are many times as large as the pages that show SQL.

import { useMemo } from "react";

/** The words that are shown as keywords in any dialect. */
const KEYWORDS = new Set(
  (
    "ADD ALL ALTER AND ANY AS ASC BEGIN BETWEEN BY CASE CAST CHECK CLUSTER COLUMN CREATE CROSS CUBE " +
    "CURRENT_DATE CURRENT_TIMESTAMP DATABASE DEFAULT DELETE DESC DISTINCT DROP ELSE END EXCEPT " +
    "EXISTS EXPLAIN EXTRACT FALSE FETCH FILTER FIRST FOLLOWING FOR FOREIGN FROM FULL FUNCTION GRANT " +
    "GROUP GROUPING HAVING IF ILIKE IN INNER INSERT INTERSECT INTERVAL INTO IS JOIN KEY LAST " +
    "LATERAL LEFT LIKE LIMIT MATERIALIZED MERGE MINUS NATURAL NOT NULL NULLS OFFSET ON OR ORDER " +
    "OUTER OVER PARTITION PIVOT PRECEDING PRIMARY QUALIFY RANGE RECURSIVE REFERENCES REPLACE " +
    "RIGHT ROLLUP ROW ROWS SELECT SET SETS SIMILAR SOME TABLE TABLESAMPLE TEMPORARY THEN TO TRUE " +
    "TRUNCATE UNBOUNDED UNION UNIQUE UNNEST UPDATE USING VALUES VIEW WHEN WHERE WINDOW WITH"
  ).split(" "),
);

type TokenKind = "comment" | "string" | "name" | "number" | "keyword" | "text";

interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

/** Comments, strings, quoted names, numbers and words; what is between them is plain. An open
 *  string or comment ends with the text. */
const TOKEN =
  /(?<comment>--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|(?<string>'(?:[^']|'')*(?:'|$))|(?<name>"(?:[^"]|"")*(?:"|$)|`[^`]*(?:`|$))|(?<number>\b\d+(?:\.\d+)?\b)|(?<word>[\p{L}_][\p{L}\p{N}_$]*)/gu;

export function tokensOf(sql: string): readonly Token[] {
  const tokens: Token[] = [];
  // Neighbors of the same kind are one element.
  const add = (kind: TokenKind, text: string) => {
    const last = tokens.at(-1);
    if (last?.kind === kind) tokens[tokens.length - 1] = { kind, text: last.text + text };
    else if (text !== "") tokens.push({ kind, text });
  };
  let end = 0;
  for (const match of sql.matchAll(TOKEN)) {
    add("text", sql.slice(end, match.index));
    const [text] = match;
    end = match.index + text.length;
    const kinds = match.groups ?? {};
    if (kinds["word"] !== undefined)
      add(KEYWORDS.has(text.toUpperCase()) ? "keyword" : "text", text);
    else if (kinds["comment"] !== undefined) add("comment", text);
    else if (kinds["string"] !== undefined) add("string", text);
    else add(kinds["name"] === undefined ? "number" : "name", text);
  }
  add("text", sql.slice(end));
  return tokens;
}

export function Sql({ text }: { readonly text: string }) {
  const tokens = useMemo(() => tokensOf(text), [text]);
  return (
    // Focusable, because it scrolls.
    <pre className="sql" tabIndex={0}>
      <code>
        {tokens.map((token, index) =>
          token.kind === "text" ? (
            token.text
          ) : (
            <span key={index} className={`sql-${token.kind}`}>
              {token.text}
            </span>
          ),
        )}
      </code>
    </pre>
  );
}
