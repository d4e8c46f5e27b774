import { Fragment } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { SelectBox } from "../bulk/selectable_list.tsx";
import { EntityLink, Environment } from "../components/common.tsx";
import {
  firstParagraph,
  matchingParagraph,
  plainSpans,
  plainText,
  type TextSpan,
} from "../components/plain_text.ts";
import { readablePath } from "../dataset/field_path.ts";
import { KindIcon } from "../icons/icon.tsx";
import { PlatformIcon } from "../icons/platform_icon.tsx";
import { contextOf, descriptionOf, nameOf } from "../names.ts";
import { texts } from "../texts.ts";
import { matchesOf, type ColumnMatch, type Match, type Result } from "./matches.ts";

const MAX_COLUMNS = 5;
const SNIPPET_LENGTH = 220;

/** A search result with its matches. */
export function ResultItem({ result }: { readonly result: Result }) {
  const { entity } = result;
  const matches = matchesOf(result);
  const location = contextOf({ ...entity, platform: null });
  const platform = platformOf(entity);
  return (
    <article className="result">
      <SelectBox entity={entity} />
      <h2>
        <Link dir="auto" href={addresses.entity(entity.urn)} data-result>
          {nameOf(entity)}
        </Link>
      </h2>
      <p className="result-details">
        <span className="with-icon">
          <KindIcon type={entity.type} subType={typeOf(entity)} />
          {typeOf(entity)}
        </span>
        {platform !== undefined && (
          <span className="with-icon">
            <PlatformIcon urn={platform.urn} />
            {nameOf(platform)}
          </span>
        )}
        {location !== "" && <span dir="auto">{location}</span>}
        {"origin" in entity && <Environment origin={entity.origin} />}
        {"domain" in entity && entity.domain?.domain !== undefined && (
          <Link dir="auto" href={addresses.domain(entity.domain.domain.urn)} className="chip">
            {nameOf(entity.domain.domain)}
          </Link>
        )}
        {"deprecation" in entity && entity.deprecation?.deprecated === true && (
          <span className="warning">{texts.dataset.deprecated}</span>
        )}
      </p>
      <Snippet text={descriptionOf(entity)} match={matches.description} />
      <MatchingColumns urn={entity.urn} columns={matches.columns} />
      {matches.labels.length > 0 && (
        <p className="result-labels">
          {matches.labels.map(({ field, label }) => (
            <span key={`${field} ${label.urn}`}>
              <span className="hint">{texts.search.matchedLabels[field]}</span>{" "}
              <EntityLink entity={label} />
            </span>
          ))}
        </p>
      )}
    </article>
  );
}

/** Columns that match by their name or their description, each a link to it. */
function MatchingColumns({
  urn,
  columns,
}: {
  readonly urn: string;
  readonly columns: readonly ColumnMatch[];
}) {
  if (columns.length === 0) return null;
  return (
    <ul className="result-columns" aria-label={texts.search.matchingColumns}>
      {columns.slice(0, MAX_COLUMNS).map(({ path, name, description }) => (
        <li key={path}>
          <Link href={addresses.column(urn, path)}>
            <code>
              {name === undefined ? readablePath(path) : <HighlightedColumn match={name} />}
            </code>
          </Link>
          {description !== undefined && (
            <>
              {": "}
              <Highlighted match={description} />
            </>
          )}
        </li>
      ))}
      {columns.length > MAX_COLUMNS && (
        <li className="hint">{texts.search.moreMatches(columns.length - MAX_COLUMNS)}</li>
      )}
    </ul>
  );
}

/** A task is on the platform of its pipeline. */
function platformOf(entity: Result["entity"]) {
  if ("platform" in entity) return entity.platform;
  return "dataFlow" in entity ? entity.dataFlow?.platform : undefined;
}

function typeOf(entity: Result["entity"]): string {
  if ("subTypes" in entity) {
    const named = entity.subTypes?.typeNames?.[0];
    if (named !== undefined) return named;
  }
  return texts.entityTypes[entity.type]?.one ?? entity.type;
}

/** The matching text with highlights, or the start of the description. */
function Snippet({ text, match }: { readonly text: string; readonly match: Match | undefined }) {
  if (match !== undefined) {
    return (
      <p className="result-text" dir="auto">
        <Highlighted match={match} />
      </p>
    );
  }
  if (text === "") return null;
  return (
    <p className="result-text" dir="auto">
      {truncate(plainText(firstParagraph(text)))}
    </p>
  );
}

function Highlighted({ match }: { readonly match: Match }) {
  return <Spans spans={excerpt(plainSpans(matchingParagraph(match.pieces)))} />;
}

function Spans({ spans }: { readonly spans: readonly TextSpan[] }) {
  return spans.map((span, index) =>
    span.matched ? (
      <mark key={index}>{span.text}</mark>
    ) : (
      <Fragment key={index}>{span.text}</Fragment>
    ),
  );
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
  return <Spans spans={match.pieces} />;
}
