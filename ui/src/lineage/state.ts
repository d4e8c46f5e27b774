// The state of the lineage view in the address, so that it can be shared as a link.

import { useLocation, useSearch } from "wouter";

import { SAME_PAGE } from "../addresses.ts";
import { currentPath } from "../location.ts";
import { columnOf } from "./about.ts";
import type { Period } from "./loading.ts";

export const VIEWS = ["graph", "list", "impact"] as const;
export type View = (typeof VIEWS)[number];

/** The numbers of steps to choose from; the last one stands for all. */
export const STEPS = [1, 2, 3, 5, 20] as const;
export const ALL_STEPS = 20;
const DEFAULT_STEPS = 2;

export interface LineageState {
  readonly view: View | undefined;
  readonly steps: number;
  /** Days, as in `2026-01-31`; empty for no limit. */
  readonly since: string;
  readonly until: string;
  /** The URN of the traced column. */
  readonly column: string | null;
  /** The ends of the shown path. */
  readonly from: string | null;
  readonly to: string | null;
}

export type LineageParameter = "view" | "steps" | "since" | "until" | "column" | "from" | "to";

/** The state, and a function that changes some parameters; `null` removes one. */
export function useLineageState() {
  const search = useSearch();
  const [, navigate] = useLocation();
  const parameters = new URLSearchParams(search);
  const steps = Number(parameters.get("steps"));
  const column = parameters.get("column");
  const state: LineageState = {
    view: VIEWS.find((view) => view === parameters.get("view")),
    steps: STEPS.find((number) => number === steps) ?? DEFAULT_STEPS,
    since: dayOf(parameters.get("since")),
    until: dayOf(parameters.get("until")),
    column: column !== null && columnOf(column) !== null ? column : null,
    from: parameters.get("from"),
    to: parameters.get("to"),
  };
  const change = (changes: Partial<Record<LineageParameter, string | null>>) => {
    const next = new URLSearchParams(search);
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === "") next.delete(name);
      else next.set(name, value);
    }
    const query = next.toString();
    navigate(query === "" ? currentPath() : `${currentPath()}?${query}`, { state: SAME_PAGE });
  };
  return { state, change };
}

const dayOf = (text: string | null) =>
  text !== null && /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : "";

const DAY_MS = 24 * 60 * 60 * 1000;

/** The period of some days, both included. */
export function periodOf({ since, until }: Pick<LineageState, "since" | "until">): Period {
  return {
    start: since === "" ? null : Date.parse(since),
    end: until === "" ? null : Date.parse(until) + DAY_MS - 1,
  };
}

/** The day so many days ago. */
export const daysAgo = (days: number) =>
  new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);
