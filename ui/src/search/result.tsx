import { Fragment } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { plainPieces, plainText, type Piece } from "../components/plain_text.ts";
import type { SearchQuery } from "../generated/operations.ts";
import { readablePath } from "../dataset/field_path.ts";
import { chainOf, descriptionOf, nameOf } from "../names.ts";
import { texts } from "../texts.ts";

type Result = NonNullable<SearchQuery["searchAcrossEntities"]>["searchResults"][number];
type Match = Result["matchedFields"][number];

const MOST_COLUMNS = 5;
const SNIPPET = 220;
const COLUMN_FIELDS = ["fieldPaths", "fieldLabels"];
const TEXT_FIELDS = ["description", "editedDescription", "fieldDescriptions", "editedFieldDescriptions"];

/** One thing that was found, and why. */
export function ResultItem({ result }: { readonly result: Result }) {
  const { entity } = result;
  const isDomain = entity.type === "DOMAIN";
  const matches = matchesOf(result);
  const parents = "parentDomains" in entity ? chainOf(entity.parentDomains?.domains) : "";
  return (
    <article className="result">
      <h2>
        <Link href={addresses.entity(entity.urn)} data-result>
          {nameOf(entity)}
        </Link>
      </h2>
      <p className="result-facts">
        <span>{kindOf(entity)}</span>
        {"platform" in entity && entity.platform !== undefined && <span>{nameOf(entity.platform)}</span>}
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
          <span className="hint">{texts.search.matchedColumns}</span>{" "}
          {matches.columns.slice(0, MOST_COLUMNS).map((match) => (
            <code key={match.value}>
              <Pieces match={match} />
            </code>
          ))}
          {matches.columns.length > MOST_COLUMNS && (
            <span className="hint">{texts.search.moreMatches(matches.columns.length - MOST_COLUMNS)}</span>
          )}
        </p>
      )}
    </article>
  );
}

function kindOf(entity: Result["entity"]): string {
  if ("subTypes" in entity) {
    const named = entity.subTypes?.typeNames?.[0];
    if (named !== undefined) return named;
  }
  return texts.kinds[entity.type]?.one ?? entity.type;
}

function matchesOf(result: Result): { readonly columns: readonly Match[]; readonly text: Match | undefined } {
  const columns = result.matchedFields.filter((match) => COLUMN_FIELDS.includes(match.name));
  const texts = result.matchedFields.filter((match) => TEXT_FIELDS.includes(match.name));
  return { columns: unique(columns), text: texts[0] };
}

const unique = (matches: readonly Match[]) =>
  matches.filter((match, place) => matches.findIndex((other) => other.value === match.value) === place);

/** The matching text with its words marked, or else the beginning of the description. */
function Snippet({ text, match }: { readonly text: string; readonly match: Match | undefined }) {
  if (match !== undefined) {
    return (
      <p className="result-text">
        {shortened(plainPieces(match.pieces)).map((piece, place) =>
          piece.matched ? <mark key={place}>{piece.text}</mark> : <Fragment key={place}>{piece.text}</Fragment>,
        )}
      </p>
    );
  }
  return text === "" ? null : <p className="result-text">{cut(plainText(text))}</p>;
}

const cut = (text: string) => (text.length > SNIPPET ? `${text.slice(0, SNIPPET)}…` : text);

/** The part of a long text around its first match. */
function shortened(pieces: readonly Piece[]): readonly Piece[] {
  const first = pieces.findIndex((piece) => piece.matched);
  return pieces.slice(Math.max(0, first - 1), first + 8).map((piece, place) => {
    if (piece.matched || piece.text.length <= SNIPPET) return piece;
    const isBefore = place === 0 && first > 0;
    const text = isBefore ? `…${piece.text.slice(-SNIPPET / 2)}` : `${piece.text.slice(0, SNIPPET)}…`;
    return { ...piece, text };
  });
}

function Pieces({ match }: { readonly match: Match }) {
  if (readablePath(match.value) !== match.value) return readablePath(match.value);
  return match.pieces.map((piece, place) =>
    piece.matched ? <mark key={place}>{piece.text}</mark> : <Fragment key={place}>{piece.text}</Fragment>,
  );
}
