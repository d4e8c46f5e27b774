import { Fragment } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { plainSpans, plainText, type TextSpan } from "../components/plain_text.ts";
import type { SearchQuery } from "../generated/operations.ts";
import { readablePath } from "../dataset/field_path.ts";
import { parentPath, descriptionOf, nameOf } from "../names.ts";
import { texts } from "../texts.ts";

type Result = NonNullable<SearchQuery["searchAcrossEntities"]>["searchResults"][number];
type Match = Result["matchedFields"][number];

const MAX_COLUMNS = 5;
const SNIPPET_LENGTH = 220;
const COLUMN_FIELDS = ["fieldPaths", "fieldLabels"];
const TEXT_FIELDS = [
  "description",
  "editedDescription",
  "fieldDescriptions",
  "editedFieldDescriptions",
];

/** A search result with its matches. */
export function ResultItem({ result }: { readonly result: Result }) {
  const { entity } = result;
  const isDomain = entity.type === "DOMAIN";
  const matches = matchesOf(result);
  const parents = "parentDomains" in entity ? parentPath(entity.parentDomains?.domains) : "";
  return (
    <article className="result">
      <h2>
        <Link href={addresses.entity(entity.urn)} data-result>
          {nameOf(entity)}
        </Link>
      </h2>
      <p className="result-details">
        <span>{typeOf(entity)}</span>
        {"platform" in entity && entity.platform !== undefined && (
          <span>{nameOf(entity.platform)}</span>
        )}
        {"domain" in entity && entity.domain?.domain !== undefined && (
          <Link href={addresses.domain(entity.domain.domain.urn)} className="chip">
            {nameOf(entity.domain.domain)}
          </Link>
        )}
        {isDomain && parents !== "" && <span>{parents}</span>}
        {"deprecation" in entity && entity.deprecation?.deprecated === true && (
          <span className="warning">{texts.dataset.deprecated}</span>
        )}
      </p>
      <Snippet text={descriptionOf(entity)} match={matches.text} />
      {matches.columns.length > 0 && (
        <p className="result-columns">
          <span className="hint">{texts.search.matchingColumns}</span>{" "}
          {matches.columns.slice(0, MAX_COLUMNS).map((match) => (
            <code key={match.value}>
              <HighlightedColumn match={match} />
            </code>
          ))}
          {matches.columns.length > MAX_COLUMNS && (
            <span className="hint">
              {texts.search.moreMatches(matches.columns.length - MAX_COLUMNS)}
            </span>
          )}
        </p>
      )}
    </article>
  );
}

function typeOf(entity: Result["entity"]): string {
  if ("subTypes" in entity) {
    const named = entity.subTypes?.typeNames?.[0];
    if (named !== undefined) return named;
  }
  return texts.entityTypes[entity.type]?.one ?? entity.type;
}

function matchesOf(result: Result): {
  readonly columns: readonly Match[];
  readonly text: Match | undefined;
} {
  const columns = result.matchedFields.filter((match) => COLUMN_FIELDS.includes(match.name));
  const descriptions = result.matchedFields.filter((match) => TEXT_FIELDS.includes(match.name));
  return { columns: unique(columns), text: descriptions[0] };
}

const unique = (matches: readonly Match[]) =>
  matches.filter(
    (match, index) => matches.findIndex((other) => other.value === match.value) === index,
  );

/** The matching text with highlights, or the start of the description. */
function Snippet({ text, match }: { readonly text: string; readonly match: Match | undefined }) {
  if (match !== undefined) {
    return (
      <p className="result-text">
        {excerpt(plainSpans(match.pieces)).map((span, index) =>
          span.matched ? (
            <mark key={index}>{span.text}</mark>
          ) : (
            <Fragment key={index}>{span.text}</Fragment>
          ),
        )}
      </p>
    );
  }
  return text === "" ? null : <p className="result-text">{truncate(plainText(text))}</p>;
}

const truncate = (text: string) =>
  text.length > SNIPPET_LENGTH ? `${text.slice(0, SNIPPET_LENGTH)}…` : text;

/** The part of a long text around its first match. */
function excerpt(spans: readonly TextSpan[]): readonly TextSpan[] {
  const first = spans.findIndex((span) => span.matched);
  return spans.slice(Math.max(0, first - 1), first + 8).map((span, index) => {
    if (span.matched || span.text.length <= SNIPPET_LENGTH) return span;
    const isBefore = index === 0 && first > 0;
    const text = isBefore
      ? `…${span.text.slice(-SNIPPET_LENGTH / 2)}`
      : `${span.text.slice(0, SNIPPET_LENGTH)}…`;
    return { ...span, text };
  });
}

function HighlightedColumn({ match }: { readonly match: Match }) {
  if (readablePath(match.value) !== match.value) return readablePath(match.value);
  return match.pieces.map((span, index) =>
    span.matched ? (
      <mark key={index}>{span.text}</mark>
    ) : (
      <Fragment key={index}>{span.text}</Fragment>
    ),
  );
}
