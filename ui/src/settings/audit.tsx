import { useState } from "react";
import { Link, useLocation, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery, useMe } from "../api/cache.ts";
import { RelativeTime } from "../components/common.tsx";
import { EmptyState, LoadingOrError, StaleNotice } from "../components/states.tsx";
import { AuditLogDocument, type AuditLogQuery } from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { texts } from "../texts.ts";

const PAGE_SIZE = 50;
const DAY_MS = 24 * 60 * 60 * 1000;

type Event = AuditLogQuery["auditLog"]["events"][number];

/** Lists who did what, for administrators. */
export function AuditLog() {
  const me = useMe();
  const [, navigate] = useLocation();
  // Fixed while the page is open, so that periods do not move with every render.
  const [now] = useState(() => Date.now());
  const parameters = new URLSearchParams(useSearch());
  const filters = {
    user: parameters.get("user") ?? "",
    outcome: oneOf(texts.audit.outcomes, parameters.get("outcome")),
    period: oneOf(texts.audit.periods, parameters.get("period")),
  };
  const scroll = parameters.get("scroll");
  const user = filters.user.trim();
  const days = Number.parseInt(filters.period, 10);
  const canSee = me.data?.me?.platformPrivileges.viewAuditLog === true;
  const read = useApiQuery(
    AuditLogDocument,
    {
      since: days > 0 ? now - days * DAY_MS : null,
      actor: user === "" ? null : user.startsWith("urn:") ? user : `urn:li:corpuser:${user}`,
      outcome: filters.outcome === "" ? null : filters.outcome,
      count: PAGE_SIZE,
      scroll,
    },
    { enabled: canSee, keepPrevious: true },
  );
  if (!canSee) return <p className="notice">{texts.audit.notAllowed}</p>;
  const filter = (changed: Partial<addresses.AuditFilters>) =>
    navigate(addresses.audit({ ...filters, ...changed }), {
      replace: true,
      state: addresses.SAME_PAGE,
    });
  const log = read.data?.auditLog;
  const isFiltered = Object.values(filters).some((value) => value !== "");
  return (
    <>
      <p className="hint">{texts.audit.intro}</p>
      <div className="audit-filters">
        <input
          type="search"
          className="column-filter"
          aria-label={texts.audit.user}
          placeholder={texts.audit.user}
          value={filters.user}
          onChange={(event) => filter({ user: event.target.value })}
        />
        <Choice
          label={texts.audit.outcome}
          options={texts.audit.outcomes}
          value={filters.outcome}
          onChange={(outcome) => filter({ outcome })}
        />
        <Choice
          label={texts.audit.period}
          options={texts.audit.periods}
          value={filters.period}
          onChange={(period) => filter({ period })}
        />
      </div>
      {read.data === undefined && <LoadingOrError read={read} />}
      <StaleNotice read={read} />
      {log !== undefined && log.events.length === 0 && (
        <EmptyState
          title={texts.audit.none}
          hint={log.nextScroll === null ? texts.audit.noneHint : texts.audit.examined}
        >
          {isFiltered && (
            <Link href={addresses.audit({ user: "", outcome: "", period: "" })}>
              {texts.audit.showAll}
            </Link>
          )}
        </EmptyState>
      )}
      {log !== undefined && log.events.length > 0 && (
        <div className="table-scroll">
          <table className="data-table stacked">
            <thead>
              <tr>
                {Object.values(texts.audit.columns).map((label) => (
                  <th key={label} scope="col">
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {log.events.map((event) => (
                <EventRow key={event.id} event={event} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {log !== undefined && (scroll !== null || log.nextScroll !== null) && (
        <nav className="pagination" aria-label={texts.audit.pagination}>
          {/* Keyed, so that a focused link is not reused for a different target. */}
          {scroll === null ? (
            <span key="first" />
          ) : (
            <Link key="newest" href={addresses.audit(filters)}>
              {texts.audit.newest}
            </Link>
          )}
          {log.nextScroll === null ? (
            <span key="last" />
          ) : (
            <Link key="older" href={addresses.audit(filters, log.nextScroll)}>
              {texts.audit.older}
            </Link>
          )}
        </nav>
      )}
    </>
  );
}

function EventRow({ event }: { readonly event: Event }) {
  const columns = texts.audit.columns;
  const first = event.entities[0];
  const isDenied = event.outcome === "DENIED";
  return (
    <tr>
      <th scope="row">
        <RelativeTime time={event.time} />
      </th>
      <td data-label={columns.user}>{userOf(event)}</td>
      <td data-label={columns.operation}>
        <code>{event.operation}</code>
      </td>
      <td data-label={columns.outcome} title={event.reason ?? undefined}>
        {isDenied ? texts.audit.outcomes.DENIED : texts.audit.outcomes.ALLOWED}
        {event.reason !== null && <p className="hint audit-reason">{event.reason}</p>}
        {event.policies.length > 0 && (
          <p className="hint audit-reason">{texts.audit.policies(idsOf(event.policies))}</p>
        )}
      </td>
      <td data-label={columns.target} className="audit-target">
        {first?.urn} {event.entityCount > 1 && texts.audit.more(event.entityCount - 1)}
        {event.dropped > 0 && texts.audit.dropped(event.dropped)}
        {first !== undefined && !isDenied && <p className="hint">{changesOf(first)}</p>}
      </td>
      <td data-label={columns.origin}>
        {event.address} <span className="hint">{event.credential}</span>
      </td>
    </tr>
  );
}

function userOf(event: Event): string {
  if (event.actor !== null && event.actor !== undefined) return nameOf(event.actor);
  return event.actorUrn?.replace(/^urn:li:corpuser:/, "") ?? texts.audit.unknownUser;
}

function idsOf(policies: readonly string[]): string {
  return policies.map((urn) => urn.replace(/^urn:li:dataHubPolicy:/, "")).join(", ");
}

function changesOf(entity: Event["entities"][number]): string {
  const changes = entity.changes.map(({ aspectName, before, after }) =>
    texts.audit.change(aspectName, before, after),
  );
  return changes.join(", ");
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
