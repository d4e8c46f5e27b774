// How one change is shown: words that changed, or what was added and removed.

import { Fragment } from "react";

import { EntityLink } from "../components/common.tsx";
import { LinkTarget } from "../components/link_target.tsx";
import { TextDiff } from "../components/text_diff.tsx";
import { readablePath } from "../dataset/field_path.ts";
import { nameOf, urnId, type Nameable } from "../names.ts";
import { timelineTexts } from "../timeline_texts.ts";
import { texts } from "../texts.ts";
import { formatDate } from "../time.ts";
import { propertyValuesOf, textsOf, type TimelineEvent } from "./events.ts";
import type { Named } from "./timeline.tsx";

export function eventLabel(event: TimelineEvent): string {
  const kind = timelineTexts.kinds[event.kind];
  return event.column === undefined || event.kind === "SCHEMA"
    ? kind
    : timelineTexts.ofColumn(kind, readablePath(event.column));
}

interface ContentProperties {
  readonly event: TimelineEvent;
  readonly byUrn: ReadonlyMap<string, Named>;
}

export function EventContent({ event, byUrn }: ContentProperties) {
  const changed = textsOf(event);
  if (changed !== undefined) {
    // A first text is not shown as one long addition.
    const before = changed.before === "" ? changed.after : changed.before;
    return changed.after === "" ? (
      <>
        <span className="hint">{timelineTexts.emptied}</span>{" "}
        <TextDiff before={changed.before} after="" />
      </>
    ) : (
      <TextDiff before={before} after={changed.after} />
    );
  }
  switch (event.kind) {
    case "SCHEMA":
      return <SchemaChange event={event} />;
    case "DEPRECATION":
      return <Deprecation event={event} byUrn={byUrn} />;
    case "DELETION":
      return <span>{event.isAdded ? timelineTexts.deleted : timelineTexts.undeleted}</span>;
    case "PARENT":
      return <Move event={event} byUrn={byUrn} />;
    case "PROPERTY":
      return (
        <Chip event={event}>
          <Reference urn={event.modifier ?? ""} byUrn={byUrn} />
          <PropertyValues values={propertyValuesOf(event)} byUrn={byUrn} />
        </Chip>
      );
    case "LINK":
      return (
        <Chip event={event}>
          <LinkTarget
            link={{
              url: event.modifier ?? "",
              label: event.parameters.get("description") ?? "",
            }}
          />
        </Chip>
      );
    default:
      return event.modifier === undefined ? (
        <span dir="auto">{event.description}</span>
      ) : (
        <Chip event={event}>
          <Reference urn={event.modifier} byUrn={byUrn} />
        </Chip>
      );
  }
}

/** Marked by a sign and a line, not by color alone. */
function Chip({
  event,
  children,
}: {
  readonly event: TimelineEvent;
  readonly children: React.ReactNode;
}) {
  if (event.isAdded)
    return (
      <ins className="timeline-chip" data-announce={texts.history.addedWords}>
        {children}
      </ins>
    );
  if (event.isRemoved)
    return (
      <del className="timeline-chip" data-announce={texts.history.removedWords}>
        {children}
      </del>
    );
  return <span className="timeline-chip">{children}</span>;
}

/** A link to an entity, or its name if it was deleted since. */
function Reference({
  urn,
  byUrn,
}: {
  readonly urn: string;
  readonly byUrn: ReadonlyMap<string, Named>;
}) {
  const entity = byUrn.get(urn);
  if (entity !== undefined) {
    return "definition" in entity ? (
      <span dir="auto">{entity.definition.displayName ?? entity.definition.qualifiedName}</span>
    ) : (
      <EntityLink entity={entity as Nameable & { readonly urn: string }} />
    );
  }
  if (urn.startsWith("urn:li:restricted:")) return <EntityLink entity={{ urn }} />;
  return (
    <span dir="auto" title={urn}>
      {nameOf({ id: urnId(urn) })} {timelineTexts.goneMark}
    </span>
  );
}

function SchemaChange({ event }: { readonly event: TimelineEvent }) {
  if (event.column === undefined) return <span dir="auto">{event.description}</span>;
  const name = <code>{readablePath(event.column)}</code>;
  // A change of the type or the name is described by the server.
  if (!event.isAdded && !event.isRemoved) return <span dir="auto">{event.description}</span>;
  return <Chip event={event}>{name}</Chip>;
}

function Deprecation({ event, byUrn }: ContentProperties) {
  const { parameters } = event;
  const replacement = parameters.get("replacement");
  const time = Number(parameters.get("decommissionTime") ?? 0);
  if (event.isRemoved) return <span>{timelineTexts.undeprecated}</span>;
  return (
    <span dir="auto">
      {event.isAdded ? timelineTexts.deprecated : timelineTexts.deprecationChanged}{" "}
      {parameters.get("note") ?? ""}{" "}
      {replacement !== undefined && (
        <>
          {timelineTexts.replacement} <Reference urn={replacement} byUrn={byUrn} />
        </>
      )}{" "}
      {time > 0 && timelineTexts.until(formatDate(time))}
    </span>
  );
}

function Move({ event, byUrn }: ContentProperties) {
  const to = event.parameters.get("newParent");
  const from = event.parameters.get("oldParent");
  const former = event.isRemoved ? to : from;
  return (
    <>
      {former !== undefined && former !== "" && (
        <del className="timeline-chip" data-announce={texts.history.removedWords}>
          <Reference urn={former} byUrn={byUrn} />
        </del>
      )}
      {!event.isRemoved && to !== undefined && to !== "" && (
        <ins className="timeline-chip" data-announce={texts.history.addedWords}>
          <Reference urn={to} byUrn={byUrn} />
        </ins>
      )}
    </>
  );
}

/** The values of a structured property; entities by their names. */
function PropertyValues({
  values,
  byUrn,
}: {
  readonly values: readonly unknown[];
  readonly byUrn: ReadonlyMap<string, Named>;
}) {
  return values.map(String).map((value, index) => (
    <Fragment key={value}>
      {index === 0 ? ": " : ", "}
      {value.startsWith("urn:li:") ? <Reference urn={value} byUrn={byUrn} /> : value}
    </Fragment>
  ));
}
