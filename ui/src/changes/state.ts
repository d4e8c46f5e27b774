// The filters of the list of changes, stored in the address so that lists can be shared.

import type { ChangeFilters } from "../addresses.ts";
import type { CatalogChangeKind, ChangesQueryVariables } from "../generated/operations.ts";
import { texts } from "../texts.ts";

export type ChangesInput = ChangesQueryVariables["input"];

const PAGE_SIZE = 25;
const DAY_MS = 24 * 60 * 60 * 1000;
const WEEK_MS = 7 * DAY_MS;
/** Weeks begin on Mondays, and the epoch was a Thursday; as on the server. */
const FIRST_MONDAY_MS = 4 * DAY_MS;

export function filtersOf(search: string): Required<ChangeFilters> {
  const parameters = new URLSearchParams(search);
  const kind = parameters.get("kind") ?? "";
  return {
    period: parameters.get("period") ?? "",
    person: parameters.get("person") ?? "",
    kind: kind in texts.changes.kinds ? kind : "",
    domain: parameters.get("domain") ?? "",
    isPeopleOnly: parameters.get("by") === "people",
  };
}

/** The first time of a period, and the end if it has one. */
function rangeOf(period: string, now: number): Pick<ChangesInput, "since" | "until"> {
  if (period === "week") return { since: now - ((now - FIRST_MONDAY_MS) % WEEK_MS) };
  if (!/^\d+$/.test(period)) return {};
  const number = Number(period);
  return number < 1000
    ? { since: now - number * DAY_MS }
    : { since: number, until: number + WEEK_MS };
}

/** Whether a period is one week, by the time at which it begins. */
export const isWeek = (period: string) => /^\d{4,}$/.test(period);

export function inputOf(filters: Required<ChangeFilters>, now: number): ChangesInput {
  return {
    ...rangeOf(filters.period, now),
    actors: filters.person === "" ? null : [filters.person],
    kinds: filters.kind === "" ? null : [filters.kind as CatalogChangeKind],
    domain: filters.domain === "" ? null : filters.domain,
    peopleOnly: filters.isPeopleOnly,
    count: PAGE_SIZE,
  };
}
