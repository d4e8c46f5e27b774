// The history of an entity: every change of what its page shows, by whom, and the way back.

import { useMutation } from "@tanstack/react-query";
import { useMemo, useState, type ReactNode } from "react";
import { useLocation, useSearch } from "wouter";

import { SAME_PAGE } from "../addresses.ts";
import { refreshAll, useApiMutation, useApiQuery } from "../api/cache.ts";
import { Byline } from "../components/common.tsx";
import { EmptyState, ErrorMessage, LoadingOrError, StaleNotice } from "../components/states.tsx";
import { TextDiff } from "../components/text_diff.tsx";
import {
  NamesDocument,
  TimelineDocument,
  UpdateDescriptionDocument,
  type NamesQuery,
} from "../generated/operations.ts";
import { currentPath } from "../location.ts";
import { urnId } from "../names.ts";
import { timelineTexts } from "../timeline_texts.ts";
import { texts } from "../texts.ts";
import { formatDateTime } from "../time.ts";
import { EventContent, eventLabel } from "./event.tsx";
import {
  CATEGORIES,
  momentsOf,
  textsOf,
  urnsOf,
  type EventKind,
  type Moment,
  type TimelineEvent,
} from "./events.ts";
import { RestoreDialog, describeConflict } from "./restore_dialog.tsx";
import { mayRestoreText, revertOf, type History } from "./revert.ts";

export type Named = NonNullable<NonNullable<NamesQuery["entities"]>[number]>;

/** How many entities of a timeline get their names. */
const MAX_NAMES = 500;
/** Longer lists of one kind are folded. */
const MAX_EVENTS = 8;
/** How many transactions the API returns. */
const MAX_MOMENTS = 100;

export default function Timeline({ urn }: { readonly urn: string }) {
  const read = useApiQuery(TimelineDocument, { urn, categories: [...CATEGORIES] });
  const transactions = read.data?.getTimeline?.changeTransactions;
  const moments = useMemo(() => momentsOf(transactions ?? []), [transactions]);
  const urns = useMemo(() => urnsOf(moments).slice(0, MAX_NAMES), [moments]);
  const names = useApiQuery(NamesDocument, { urns }, { enabled: urns.length > 0 });
  const kinds = [...new Set(moments.flatMap(({ events }) => events.map(({ kind }) => kind)))];
  const [kind, setKind] = useKind(kinds);
  if (read.data === undefined) return <LoadingOrError read={read} />;
  if (urns.length > 0 && names.data === undefined) return <LoadingOrError read={names} />;
  if (moments.length === 0) return <EmptyState title={texts.history.none} />;
  const byUrn = new Map(
    (names.data?.entities ?? []).flatMap((entity) =>
      entity === null || entity === undefined ? [] : [[entity.urn, entity] as const],
    ),
  );
  const entity = read.data.entity;
  const privileges =
    entity !== null && entity !== undefined && "privileges" in entity
      ? entity.privileges
      : undefined;
  const shown = moments
    .map((moment) => ({
      moment,
      events: moment.events.filter((event) => kind === "" || event.kind === kind),
    }))
    .filter(({ events }) => events.length > 0);
  return (
    <section className="timeline" aria-label={timelineTexts.label}>
      <StaleNotice read={read} />
      <label className="timeline-filter">
        {timelineTexts.filter}{" "}
        <select value={kind} onChange={(event) => setKind(event.target.value)}>
          <option value="">{timelineTexts.allKinds}</option>
          {kinds.map((name) => (
            <option key={name} value={name}>
              {timelineTexts.kinds[name]}
            </option>
          ))}
        </select>
      </label>
      <Reverts history={{ urn, moments, privileges, exists: (other) => byUrn.has(other) }}>
        {(buttonOf) => (
          <ol className="timeline-moments">
            {shown.map(({ moment, events }) => (
              <MomentItem key={moment.id} moment={moment} byUrn={byUrn}>
                {rowsOf(events).map((row) => (
                  <Row key={row[0]?.id} events={row} byUrn={byUrn} buttonOf={buttonOf(moment)} />
                ))}
              </MomentItem>
            ))}
          </ol>
        )}
      </Reverts>
      <p className="hint">
        {moments.length >= MAX_MOMENTS
          ? timelineTexts.lastMoments(MAX_MOMENTS)
          : timelineTexts.retained}
      </p>
    </section>
  );
}

/** The kind in the address, so that a filtered history can be shared. */
function useKind(kinds: readonly EventKind[]) {
  const search = useSearch();
  const [, navigate] = useLocation();
  const parameters = new URLSearchParams(search);
  const requested = parameters.get("kind");
  const kind = kinds.find((known) => known === requested) ?? "";
  const setKind = (value: string) => {
    if (value === "") parameters.delete("kind");
    else parameters.set("kind", value);
    navigate(`${currentPath()}?${parameters}`, { replace: true, state: SAME_PAGE });
  };
  return [kind, setKind] as const;
}

interface MomentProperties {
  readonly moment: Moment;
  readonly byUrn: ReadonlyMap<string, Named>;
  readonly children: ReactNode;
}

function MomentItem({ moment, byUrn, children }: MomentProperties) {
  const { actor } = moment;
  return (
    <li className="timeline-moment">
      <p className="timeline-byline">
        <Byline
          actor={actor === undefined ? null : (byUrn.get(actor) ?? { urn: actor })}
          time={moment.time}
          at={actor === undefined ? "{when}" : timelineTexts.bySystem}
        />
      </p>
      <ul className="timeline-events">{children}</ul>
    </li>
  );
}

/** Events of the same kind and column share a row. */
function rowsOf(events: readonly TimelineEvent[]): readonly (readonly TimelineEvent[])[] {
  const rows = new Map<string, TimelineEvent[]>();
  for (const event of events) {
    const key = textsOf(event) === undefined ? `${event.kind} ${event.column ?? ""}` : event.id;
    const shared = event.kind === "SCHEMA" ? "SCHEMA" : key;
    rows.set(shared, [...(rows.get(shared) ?? []), event]);
  }
  return [...rows.values()];
}

type ButtonOf = (event: TimelineEvent) => ReactNode;

interface RowProperties {
  readonly events: readonly TimelineEvent[];
  readonly byUrn: ReadonlyMap<string, Named>;
  readonly buttonOf: ButtonOf;
}

function Row({ events, byUrn, buttonOf }: RowProperties) {
  const [isExpanded, setExpanded] = useState(false);
  const first = events[0];
  if (first === undefined) return null;
  const shown = isExpanded ? events : events.slice(0, MAX_EVENTS);
  return (
    <li className="timeline-row">
      <span className="timeline-label">{eventLabel(first)}</span>
      <div className="timeline-content">
        {shown.map((event) => (
          <span
            key={event.id}
            className={textsOf(event) === undefined ? "timeline-event" : "timeline-text"}
          >
            <EventContent event={event} byUrn={byUrn} />
            {buttonOf(event)}
          </span>
        ))}
        {events.length > MAX_EVENTS && (
          <button type="button" className="subtle" onClick={() => setExpanded(!isExpanded)}>
            {isExpanded ? timelineTexts.fewer : timelineTexts.more(events.length - MAX_EVENTS)}
          </button>
        )}
      </div>
    </li>
  );
}

interface RevertsProperties {
  readonly history: History;
  /** Renders the list, with the button of each event. */
  readonly children: (buttonOf: (moment: Moment) => ButtonOf) => ReactNode;
}

/** Undoes labels and assignments at once, and restores texts after a preview. */
function Reverts({ history, children }: RevertsProperties) {
  const { urn, moments, privileges } = history;
  const [restored, setRestored] = useState<TimelineEvent | null>(null);
  const revert = useMutation({
    mutationFn: (send: () => Promise<unknown>) => send(),
    onSuccess: refreshAll,
  });
  const update = useApiMutation(UpdateDescriptionDocument);
  const select = (event: TimelineEvent | null) => {
    update.reset();
    setRestored(event);
  };
  const current = restored === null ? "" : currentText(moments, restored);
  const target = restored === null ? "" : (textsOf(restored)?.after ?? "");
  const restore = (event: TimelineEvent) => {
    const column =
      event.column === undefined
        ? {}
        : { subResource: event.column, subResourceType: "DATASET_FIELD" as const };
    const input = {
      resourceUrn: urn,
      ...column,
      description: target,
      previousDescription: current,
    };
    update.mutate({ input }, { onSuccess: () => setRestored(null) });
  };
  const buttonOf = (moment: Moment) => (event: TimelineEvent) => {
    const send = revertOf(event, moment, history);
    if (send !== undefined) {
      return (
        <button
          type="button"
          className="subtle"
          disabled={revert.isPending}
          aria-label={
            event.isLatest
              ? timelineTexts.undoLabel(labelOf(event))
              : timelineTexts.restoreLabel(labelOf(event))
          }
          onClick={() => revert.mutate(send)}
        >
          {event.isLatest ? texts.common.undo : texts.history.restore}
        </button>
      );
    }
    if (!mayRestoreText(event, privileges)) return null;
    return (
      <button
        type="button"
        className="subtle"
        aria-label={texts.history.restoreLabel(formatDateTime(moment.time))}
        onClick={() => select(event)}
      >
        {texts.history.restore}
      </button>
    );
  };
  return (
    <>
      {revert.error !== null && <ErrorMessage error={revert.error} />}
      {children(buttonOf)}
      {restored !== null && (
        <RestoreDialog
          onClose={() => select(null)}
          onRestore={() => restore(restored)}
          error={describeConflict(update.error)}
          isBusy={update.isPending}
        >
          <TextDiff before={current} after={target} />
        </RestoreDialog>
      )}
    </>
  );
}

/** The text that the newest change of the same subject wrote. */
function currentText(moments: readonly Moment[], event: TimelineEvent): string {
  const isSame = (other: TimelineEvent) =>
    other.kind === event.kind && other.aspect === event.aspect && other.column === event.column;
  const newest = moments.flatMap(({ events }) => events).find(isSame);
  return newest === undefined ? "" : (textsOf(newest)?.after ?? "");
}

function labelOf(event: TimelineEvent): string {
  const modifier = event.kind === "NAME" ? textsOf(event)?.after : event.modifier;
  const name =
    modifier === undefined ? "" : modifier.startsWith("urn:") ? urnId(modifier) : modifier;
  return `${eventLabel(event)} ${name}`.trim();
}
