import type { ReactNode } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { Avatar } from "../components/avatar.tsx";
import { EntityLink, RelativeTime } from "../components/common.tsx";
import { FormattedText } from "../components/formatted_text.tsx";
import type { ChangesQuery } from "../generated/operations.ts";
import { isSystemUser, locationOf, nameOf, urnId } from "../names.ts";
import { texts } from "../texts.ts";

type Change = ChangesQuery["changes"]["changes"][number];
type Changed = Change["entities"][number];
type Kind = Changed["kinds"][number];

interface LineProperties {
  readonly change: Change;
  /** Whether an earlier page has shown a part of the same ingestion run. */
  readonly isContinued: boolean;
}

/** One line of the list: who changed what, on which entity, and when. */
export function ChangeLine({ change, isContinued }: LineProperties) {
  const { actor, entities, runId } = change;
  const single = change.entityCount === 1 ? entities[0] : undefined;
  const isRun = runId !== null && runId !== undefined;
  return (
    <li className="change">
      {isRun || actor === null || actor === undefined || isSystemUser(actor) ? (
        <span className="change-mark" aria-hidden="true">
          ⇣
        </span>
      ) : (
        <Avatar actor={actor} />
      )}
      <div className="change-text">
        <p>
          <Sentence change={change} single={single} />
          {isContinued && <span className="hint"> {texts.changes.continued}</span>}
        </p>
        {single === undefined && <Entities change={change} />}
      </div>
      <span className="hint change-time">
        {single !== undefined && <HistoryLink changed={single} />}
        <RelativeTime time={change.time} />
      </span>
    </li>
  );
}

function Sentence({
  change,
  single,
}: {
  readonly change: Change;
  readonly single: Changed | undefined;
}) {
  const who = <Who change={change} />;
  const what =
    single === undefined ? (
      <strong>{countOf(change)}</strong>
    ) : (
      <EntityReference changed={single} />
    );
  if (change.runId !== null && change.runId !== undefined) {
    const text = texts.changes.ingested(change.changeCount);
    return <FormattedText text={text} values={{ who, what }} />;
  }
  const kinds = kindsOf(change);
  if (kinds.has("CREATION") && single !== undefined && single.urn === change.actor?.urn)
    return <FormattedText text={texts.changes.signedUp} values={{ who }} />;
  if (kinds.has("CREATION"))
    return <FormattedText text={texts.changes.created} values={{ who, what }} />;
  const isGone = single !== undefined && isDeleted(single);
  if (kinds.has("DELETION") && isGone)
    return <FormattedText text={texts.changes.deleted} values={{ who, what }} />;
  return (
    <FormattedText text={texts.changes.changed} values={{ who, parts: partsOf(kinds), what }} />
  );
}

const kindsOf = (change: Change): ReadonlySet<Kind> =>
  new Set(change.entities.flatMap(({ kinds }) => kinds));

const partsOf = (kinds: ReadonlySet<Kind>): ReactNode =>
  texts.changes.list([...kinds].map((kind) => texts.changes.parts[kind]).filter((it) => it !== ""));

const isDeleted = ({ entity }: Changed): boolean =>
  entity === null || entity === undefined || ("exists" in entity && entity.exists === false);

/** The user, or where an ingestion run read. */
function Who({ change }: { readonly change: Change }) {
  const { actor, runId } = change;
  if (runId !== null && runId !== undefined) {
    const platforms = new Set(
      change.entities.flatMap(({ entity }) =>
        entity !== null && entity !== undefined && "platform" in entity && entity.platform
          ? [nameOf(entity.platform)]
          : [],
      ),
    );
    const [platform] = platforms;
    return (
      <strong title={texts.changes.run(runId)}>
        {platforms.size === 1 && platform !== undefined
          ? texts.changes.ingestion(platform)
          : texts.changes.run(runId)}
      </strong>
    );
  }
  if (actor === null || actor === undefined) return <strong>{texts.changes.someone}</strong>;
  return (
    <strong>
      {isSystemUser(actor) ? (
        nameOf(actor)
      ) : (
        <EntityLink entity={{ ...actor, urn: actor.urn ?? "" }} />
      )}
    </strong>
  );
}

/** More kinds of entities are counted together. */
const MAX_NAMED_TYPES = 4;

/** "57 datasets, 3 containers and 12 others". */
function countOf(change: Change): string {
  const types = change.entityTypes
    .filter(({ type }) => type in texts.entityTypes)
    .toSorted((left, right) => right.count - left.count);
  const named = types.slice(0, MAX_NAMED_TYPES);
  const others = change.entityCount - named.reduce((sum, { count }) => sum + count, 0);
  const counts = named.map(({ type, count }) => {
    const words = texts.entityTypes[type];
    const word = (count === 1 ? words?.one : words?.many) ?? type;
    return texts.changes.entities(count, word.toLocaleLowerCase(texts.locale));
  });
  const rest = named.length === 0 ? texts.changes.someEntities : texts.changes.otherEntities;
  return texts.changes.list([...counts, ...(others > 0 ? [rest(others)] : [])]);
}

/** What changed of an entity. Of a new one, everything is new. */
const kindsOfEntity = ({ kinds }: Changed): readonly Kind[] =>
  kinds.includes("CREATION") ? ["CREATION"] : kinds;

function EntityReference({ changed }: { readonly changed: Changed }) {
  const { entity, urn } = changed;
  if (isDeleted(changed) || entity === null || entity === undefined)
    return (
      <span dir="auto" title={urn}>
        {urnId(urn)}
      </span>
    );
  const location = "parentContainers" in entity ? locationOf(entity) : "";
  return (
    <>
      <EntityLink entity={entity} />
      {location !== "" && (
        <span className="hint change-location" dir="auto">
          {" "}
          {location}
        </span>
      )}
    </>
  );
}

function HistoryLink({ changed }: { readonly changed: Changed }) {
  if (isDeleted(changed) || changed.entity === null || changed.entity === undefined) return null;
  return (
    <Link
      href={addresses.history(addresses.entity(changed.urn))}
      aria-label={texts.changes.historyOf(nameOf(changed.entity))}
    >
      {texts.changes.history}
    </Link>
  );
}

function Entities({ change }: { readonly change: Change }) {
  const hidden = change.entityCount - change.entities.length;
  return (
    <details className="change-entities">
      <summary>{texts.changes.showEntities}</summary>
      <ul>
        {change.entities.map((changed) => (
          <li key={changed.urn}>
            <EntityReference changed={changed} />{" "}
            <span className="hint">
              {texts.changes.list(kindsOfEntity(changed).map((kind) => texts.changes.kinds[kind]))}
            </span>{" "}
            <HistoryLink changed={changed} />
          </li>
        ))}
        {hidden > 0 && <li className="hint">{texts.changes.moreEntities(hidden)}</li>}
      </ul>
    </details>
  );
}
