// The changes of an entity, newest first, in the order and the words of the page.

import type { TimelineQuery } from "../generated/operations.ts";

type Transaction = NonNullable<TimelineQuery["getTimeline"]>["changeTransactions"][number];
type Raw = NonNullable<Transaction["changes"]>[number];

/** What a change is about, for the filter and the labels. */
export type EventKind =
  | "DESCRIPTION"
  | "IMPORTED_DESCRIPTION"
  | "COLUMN_DESCRIPTION"
  | "IMPORTED_COLUMN_DESCRIPTION"
  | "NAME"
  | "TAG"
  | "TERM"
  | "OWNER"
  | "DOMAIN"
  | "LINK"
  | "SCHEMA"
  | "PROPERTY"
  | "DEPRECATION"
  | "DELETION"
  | "PARENT"
  | "OTHER";

/** The categories of the API, in the order in which a transaction shows them. All are requested by
 *  name, because those beyond DataHub's are returned only then. */
export const CATEGORIES = [
  "DELETION",
  "NAME",
  "DOCUMENTATION",
  "DEPRECATION",
  "DOMAIN",
  "OWNERSHIP",
  "TAG",
  "GLOSSARY_TERM",
  "STRUCTURED_PROPERTY",
  "PARENT",
  "APPLICATION",
  "ASSET_MEMBERSHIP",
  "VERSIONING",
  "RELATED_ENTITIES",
  "TECHNICAL_SCHEMA",
] as const;

export interface TimelineEvent {
  /** Unique within the timeline. */
  readonly id: string;
  readonly kind: EventKind;
  readonly aspect: string;
  readonly isAdded: boolean;
  readonly isRemoved: boolean;
  readonly column: string | undefined;
  /** What was added or removed: a URN or a URL. */
  readonly modifier: string | undefined;
  readonly parameters: ReadonlyMap<string, string>;
  readonly description: string;
  /** Whether nothing newer is known about the same thing. */
  readonly isLatest: boolean;
}

export interface Moment {
  readonly id: string;
  readonly time: number;
  readonly actor: string | undefined;
  readonly events: readonly TimelineEvent[];
}

/** Aspects that ingestion writes, and that users cannot change back. */
const IMPORTED: ReadonlySet<string> = new Set([
  "datasetProperties",
  "containerProperties",
  "schemaMetadata",
  "chartInfo",
  "dashboardInfo",
  "dataFlowInfo",
  "dataJobInfo",
  "corpUserInfo",
  "corpGroupInfo",
]);

export const isImported = (aspect: string) => IMPORTED.has(aspect);

export function momentsOf(transactions: readonly Transaction[]): readonly Moment[] {
  const seen = new Set<string>();
  // An actor can make several changes within a millisecond.
  const numbers = new Map<string, number>();
  return transactions.toReversed().map((transaction) => {
    const key = `${transaction.timestampMillis} ${transaction.actor}`;
    const number = numbers.get(key) ?? 0;
    numbers.set(key, number + 1);
    const id = `${key} ${number}`;
    const events = (transaction.changes ?? []).map((change, index) => {
      const event = eventOf(change, `${id} ${index}`);
      const subject = subjectOf(event);
      return { event, subject };
    });
    // A domain that replaces another is one change with two events.
    const known = new Set(seen);
    for (const { subject } of events) seen.add(subject);
    return {
      id,
      time: transaction.timestampMillis,
      actor: transaction.actor ?? undefined,
      events: events
        .map(({ event, subject }) => ({ ...event, isLatest: !known.has(subject) }))
        .toSorted((left, right) => orderOf(left) - orderOf(right)),
    };
  });
}

const ORDER: readonly EventKind[] = [
  "DELETION",
  "NAME",
  "DESCRIPTION",
  "IMPORTED_DESCRIPTION",
  "DEPRECATION",
  "DOMAIN",
  "OWNER",
  "TAG",
  "TERM",
  "PROPERTY",
  "LINK",
  "PARENT",
  "COLUMN_DESCRIPTION",
  "SCHEMA",
  "IMPORTED_COLUMN_DESCRIPTION",
  "OTHER",
];

const orderOf = ({ kind }: { readonly kind: EventKind }) => ORDER.indexOf(kind);

function eventOf(change: Raw, id: string): Omit<TimelineEvent, "isLatest"> {
  const parameters = new Map(
    (change.parameters ?? []).map(({ key, value }) => [key ?? "", value ?? ""]),
  );
  const column = parameters.get("fieldPath");
  return {
    id,
    kind: kindOf(change, column),
    aspect: change.aspectName,
    isAdded: change.operation === "ADD",
    isRemoved: change.operation === "REMOVE",
    column,
    modifier: change.modifier ?? undefined,
    parameters,
    description: change.description ?? "",
  };
}

function kindOf(change: Raw, column: string | undefined): EventKind {
  if (change.aspectName === "institutionalMemory") return "LINK";
  switch (change.category) {
    case "DOCUMENTATION": {
      if (change.parameters?.some(({ key }) => key === "name" || key === "newTitle") === true)
        return "NAME";
      if (column !== undefined)
        return isImported(change.aspectName) ? "IMPORTED_COLUMN_DESCRIPTION" : "COLUMN_DESCRIPTION";
      return isImported(change.aspectName) ? "IMPORTED_DESCRIPTION" : "DESCRIPTION";
    }
    case "TAG":
      return "TAG";
    case "GLOSSARY_TERM":
      return "TERM";
    case "OWNERSHIP":
      return "OWNER";
    case "TECHNICAL_SCHEMA":
      return "SCHEMA";
    case "STRUCTURED_PROPERTY":
      return "PROPERTY";
    case "DOMAIN":
    case "NAME":
    case "DEPRECATION":
    case "DELETION":
    case "PARENT":
      return change.category;
    default:
      return "OTHER";
  }
}

/** What an event changes; later events about the same supersede it. */
function subjectOf(event: Omit<TimelineEvent, "isLatest">): string {
  const isSingle = ["DOMAIN", "NAME", "DEPRECATION", "DELETION", "PARENT"].includes(event.kind);
  const what = isSingle || textsOf(event) !== undefined ? event.aspect : (event.modifier ?? "");
  const ownerType = event.parameters.get("ownerTypeUrn") ?? "";
  return [event.kind, event.aspect, event.column ?? "", what, ownerType].join(" ");
}

/** The change of the same subject before an event, if the history has it. */
export function formerOf(
  moments: readonly Moment[],
  event: TimelineEvent,
): TimelineEvent | undefined {
  const subject = subjectOf(event);
  const same = moments.flatMap(({ events }) => events).filter((it) => subjectOf(it) === subject);
  return same[same.findIndex(({ id }) => id === event.id) + 1];
}

/** The values of a structured property. */
export function propertyValuesOf(event: TimelineEvent): readonly unknown[] {
  const values: unknown = JSON.parse(event.parameters.get("propertyValues") ?? "[]");
  return Array.isArray(values) ? values : [];
}

export interface Texts {
  readonly before: string;
  readonly after: string;
}

/** The texts before and after, if the event is about one. */
export function textsOf(event: Omit<TimelineEvent, "isLatest">): Texts | undefined {
  const names: readonly (readonly [string, string])[] = [
    ["description", "previousDescription"],
    ["name", "previousName"],
    ["newTitle", "oldTitle"],
    ["newContent", "oldContent"],
    ["newState", "oldState"],
  ];
  if (event.kind === "LINK") return undefined;
  for (const [name, previous] of names) {
    const text = event.parameters.get(name);
    if (text === undefined) continue;
    if (event.isRemoved) return { before: text, after: "" };
    return { before: event.parameters.get(previous) ?? "", after: text };
  }
  return undefined;
}

/** The URNs that a timeline refers to. */
export function urnsOf(moments: readonly Moment[]): string[] {
  const named = moments.flatMap(({ actor, events }) => [
    actor,
    ...events.flatMap((event) => [
      event.modifier,
      ...(event.kind === "PROPERTY" ? propertyValuesOf(event).map(String) : []),
      ...["newParent", "oldParent", "replacement", "previousReplacement"].map((name) =>
        event.parameters.get(name),
      ),
    ]),
  ]);
  const urns = named.filter(
    (urn) => urn?.startsWith("urn:li:") === true && !urn.startsWith("urn:li:schemaField:"),
  );
  return [...new Set(urns as string[])].toSorted();
}
