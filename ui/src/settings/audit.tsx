import { Fragment, useState } from "react";
import { Link, useLocation, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { RelativeTime } from "../components/common.tsx";
import { formatFile, saveFile } from "../components/csv.ts";
import { FormattedText } from "../components/formatted_text.tsx";
import { EmptyState, LoadingOrError, StaleNotice } from "../components/states.tsx";
import { TableScroll } from "../components/table_scroll.tsx";
import {
  AuditLogDocument,
  NamesDocument,
  PoliciesDocument,
  type AuditLogQuery,
} from "../generated/operations.ts";
import { isSystemUser, nameOf, type Nameable } from "../names.ts";
import { useRights } from "../rights.ts";
import { SAVED_SEARCH } from "../search/state.ts";
import { auditTexts } from "../audit_texts.ts";
import { aspectName, entityName, kindOf, operationName } from "./audit_words.ts";

const PAGE_SIZE = 50;
const DAY_MS = 24 * 60 * 60 * 1000;
const POLICY = "urn:li:dataHubPolicy:";
const VIEW = "urn:li:dataHubView:";

type Event = AuditLogQuery["auditLog"]["events"][number];

/** Lists who did what, for administrators. */
export default function AuditLog() {
  const [, navigate] = useLocation();
  // Fixed while the page is open, so that periods do not move with every render.
  const [now] = useState(() => Date.now());
  const parameters = new URLSearchParams(useSearch());
  const filters = {
    user: parameters.get("user") ?? "",
    entity: parameters.get("entity") ?? "",
    operation: parameters.get("operation") ?? "",
    outcome: oneOf(auditTexts.outcomes, parameters.get("outcome")),
    period: oneOf(auditTexts.periods, parameters.get("period")),
  };
  const scroll = parameters.get("scroll");
  const user = filters.user.trim();
  const days = Number.parseInt(filters.period, 10);
  const read = useApiQuery(
    AuditLogDocument,
    {
      since: days > 0 ? now - days * DAY_MS : null,
      actor: user === "" ? null : user.startsWith("urn:") ? user : `urn:li:corpuser:${user}`,
      entity: filters.entity === "" ? null : filters.entity,
      operation: filters.operation === "" ? null : filters.operation,
      outcome: filters.outcome === "" ? null : filters.outcome,
      count: PAGE_SIZE,
      scroll,
    },
    { keepPrevious: true },
  );
  const filter = (changed: Partial<addresses.AuditFilters>) =>
    navigate(addresses.audit({ ...filters, ...changed }), {
      replace: true,
      state: addresses.SAME_PAGE,
    });
  const log = read.data?.auditLog;
  const names = useNames(log?.events ?? []);
  const isFiltered = Object.values(filters).some((value) => value !== "");
  return (
    <>
      <p className="hint">{auditTexts.intro}</p>
      <div className="audit-filters">
        <input
          type="search"
          className="column-filter"
          aria-label={auditTexts.user}
          placeholder={auditTexts.user}
          value={filters.user}
          onChange={(event) => filter({ user: event.target.value })}
        />
        <TypedFilter
          key={`entity ${filters.entity}`}
          label={auditTexts.entity}
          value={filters.entity}
          onChange={(entity) => filter({ entity })}
        />
        <TypedFilter
          key={`operation ${filters.operation}`}
          label={auditTexts.operation}
          value={filters.operation}
          onChange={(operation) => filter({ operation })}
        />
        <Choice
          label={auditTexts.outcome}
          options={auditTexts.outcomes}
          value={filters.outcome}
          onChange={(outcome) => filter({ outcome })}
        />
        <Choice
          label={auditTexts.period}
          options={auditTexts.periods}
          value={filters.period}
          onChange={(period) => filter({ period })}
        />
        <button
          type="button"
          disabled={log === undefined || log.events.length === 0}
          onClick={() => saveFile(auditTexts.fileName, formatFile(rowsOf(log?.events ?? [])))}
        >
          {auditTexts.download}
        </button>
      </div>
      {(read.data === undefined || (read.error !== null && read.isPlaceholderData)) && (
        <LoadingOrError read={read} />
      )}
      <StaleNotice read={read} />
      {log !== undefined && log.events.length === 0 && (
        <EmptyState
          title={auditTexts.none}
          hint={log.nextScroll === null ? auditTexts.noneHint : auditTexts.examined}
        >
          {isFiltered && <Link href={addresses.settings("audit")}>{auditTexts.showAll}</Link>}
        </EmptyState>
      )}
      {log !== undefined && log.events.length > 0 && (
        <TableScroll>
          <table className="data-table stacked">
            <thead>
              <tr>
                {Object.values(auditTexts.columns).map((label) => (
                  <th key={label} scope="col">
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {log.events.map((event) => (
                <EventRow key={event.id} event={event} filters={filters} names={names} />
              ))}
            </tbody>
          </table>
        </TableScroll>
      )}
      {log !== undefined && (scroll !== null || log.nextScroll !== null) && (
        <nav className="pagination" aria-label={auditTexts.pagination}>
          {/* Keyed, so that a focused link is not reused for a different target. */}
          {scroll === null ? (
            <span key="first" />
          ) : (
            <Link key="newest" href={addresses.audit(filters)}>
              {auditTexts.newest}
            </Link>
          )}
          {log.nextScroll === null ? (
            <span key="last" />
          ) : (
            <Link key="older" href={addresses.audit(filters, log.nextScroll)}>
              {auditTexts.older}
            </Link>
          )}
        </nav>
      )}
    </>
  );
}

function EventRow({
  event,
  filters,
  names,
}: {
  readonly event: Event;
  readonly filters: addresses.AuditFilters;
  readonly names: Names;
}) {
  const columns = auditTexts.columns;
  const first = event.entities[0];
  const isDenied = event.outcome === "DENIED";
  return (
    <tr>
      <th scope="row">
        <RelativeTime time={event.time} />
      </th>
      <td data-label={columns.user}>
        {typeof event.actorUrn === "string" && !isSystemUser({ urn: event.actorUrn }) ? (
          <Link href={addresses.entity(event.actorUrn)}>{userOf(event)}</Link>
        ) : (
          userOf(event)
        )}
      </td>
      <td data-label={columns.operation}>
        <Link
          href={addresses.audit({ ...filters, operation: event.operation })}
          aria-label={auditTexts.onlyOperation(operationName(event.operation))}
          title={event.operation}
        >
          {operationName(event.operation)}
        </Link>
        <p className="hint audit-reason">
          <code>{event.operation}</code>
        </p>
      </td>
      <td data-label={columns.outcome} title={event.reason ?? undefined}>
        {isDenied ? auditTexts.outcomes.DENIED : auditTexts.outcomes.ALLOWED}
        {event.reason !== null && <p className="hint audit-reason">{event.reason}</p>}
        {event.policies.length > 0 && (
          <p className="hint audit-reason">
            <FormattedText
              text={auditTexts.by}
              values={{ policies: <Policies urns={event.policies} names={names} /> }}
            />
          </p>
        )}
      </td>
      <td data-label={first === undefined ? undefined : columns.target} className="audit-target">
        {first !== undefined && <EntityAddress urn={first.urn} name={nameIn(names, first.urn)} />}{" "}
        {event.entityCount > 1 && auditTexts.more(event.entityCount - 1)}
        {event.dropped > 0 && auditTexts.dropped(event.dropped)}
        {first !== undefined && !isDenied && <p className="hint">{changesOf(first)}</p>}
      </td>
      <td data-label={event.address === null ? undefined : columns.origin}>
        {event.address} <span className="hint">{event.credential}</span>
      </td>
    </tr>
  );
}

/** Where an entity is shown: what has no page of its own leads to its section, or to its search. */
function addressOf(urn: string): string | null {
  if (urn.startsWith(POLICY)) return addresses.settingsWith("policies", { policy: urn });
  if (urn.startsWith(VIEW)) return addresses.search("", { [SAVED_SEARCH]: [urn] });
  return addresses.hasPage(urn) ? addresses.entity(urn) : null;
}

/** An entity of the log with its kind. */
function EntityAddress({ urn, name }: { readonly urn: string; readonly name: string }) {
  const href = addressOf(urn);
  return (
    <span title={urn}>
      <span className="hint">{kindOf(urn)}</span>{" "}
      {href === null ? (
        <span dir="auto">{name}</span>
      ) : (
        <Link dir="auto" href={href}>
          {name}
        </Link>
      )}
    </span>
  );
}

/** The events of the page, as rows of a file. */
function rowsOf(events: readonly Event[]): readonly (readonly string[])[] {
  const { columns } = auditTexts;
  const header = [
    columns.time,
    columns.user,
    columns.operation,
    columns.outcome,
    auditTexts.reason,
    columns.target,
    auditTexts.changes,
    columns.origin,
  ];
  const rows = events.map((event) => {
    const first = event.entities[0];
    return [
      new Date(event.time).toISOString(),
      event.actorUrn ?? "",
      event.operation,
      auditTexts.outcomes[event.outcome],
      event.reason ?? "",
      [first?.urn ?? "", event.entityCount > 1 ? auditTexts.more(event.entityCount - 1) : ""]
        .join(" ")
        .trim(),
      first === undefined || event.outcome === "DENIED" ? "" : changesOf(first),
      event.address ?? "",
    ];
  });
  return [header, ...rows];
}

/** A filter that must be complete: it applies with Enter, or when the field is left. */
function TypedFilter({
  label,
  value,
  onChange,
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const [text, setText] = useState(value);
  const apply = () => {
    if (text.trim() !== value) onChange(text.trim());
  };
  return (
    <input
      type="search"
      className="column-filter"
      aria-label={label}
      placeholder={label}
      value={text}
      onChange={(event) => setText(event.target.value)}
      onBlur={apply}
      onKeyDown={(event) => event.key === "Enter" && apply()}
    />
  );
}

type Names = ReadonlyMap<string, Nameable>;

const nameIn = (names: Names, urn: string) => entityName(urn, names.get(urn));

/** The names of the changed entities, and of policies for those who may read them. */
function useNames(events: readonly Event[]): Names {
  const rights = useRights();
  const urns = events
    .flatMap(({ entities }) => entities.map(({ urn }) => urn))
    .filter((urn) => addresses.hasPage(urn) || urn.startsWith(VIEW));
  const entities = useApiQuery(
    NamesDocument,
    { urns: [...new Set(urns)].sort() },
    { enabled: urns.length > 0, keepPrevious: true },
  );
  const policies = useApiQuery(PoliciesDocument, {}, { enabled: rights.has("MANAGE_POLICIES") });
  return new Map<string, Nameable>([
    ...(entities.data?.entities ?? []).flatMap((entity) =>
      entity === null ? [] : [[entity.urn, entity] as const],
    ),
    ...(policies.data?.listPolicies?.policies ?? []).map(
      ({ urn, name }) => [urn, { urn, name }] as const,
    ),
  ]);
}

function Policies({ urns, names }: { readonly urns: readonly string[]; readonly names: Names }) {
  return urns.map((urn, index) => (
    <Fragment key={urn}>
      {index > 0 && ", "}
      <Link href={addresses.settingsWith("policies", { policy: urn })} title={urn}>
        {nameIn(names, urn)}
      </Link>
    </Fragment>
  ));
}

function userOf(event: Event): string {
  if (event.actor !== null && event.actor !== undefined) return nameOf(event.actor);
  return event.actorUrn?.replace(/^urn:li:corpuser:/, "") ?? auditTexts.unknownUser;
}

function changesOf(entity: Event["entities"][number]): string {
  const changes = entity.changes.map((change) =>
    auditTexts.change(aspectName(change.aspectName), change.before, change.after),
  );
  return [...new Set(changes)].join(", ");
}

function Choice<Value extends string>({
  label,
  options,
  value,
  onChange,
}: {
  readonly label: string;
  readonly options: Readonly<Record<Value, string>>;
  readonly value: Value;
  readonly onChange: (value: Value) => void;
}) {
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => onChange(oneOf(options, event.target.value))}
    >
      {Object.entries<string>(options).map(([name, text]) => (
        <option key={name} value={name}>
          {text}
        </option>
      ))}
    </select>
  );
}

/** The name of an option, or the empty name that means all. */
function oneOf<Value extends string>(
  options: Readonly<Record<Value, string>>,
  name: string | null,
): Value {
  return (name !== null && Object.hasOwn(options, name) ? name : "") as Value;
}
