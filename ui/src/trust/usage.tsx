import { useMemo, useState } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { CoverageBars } from "../components/charts.tsx";
import { EntityLink } from "../components/common.tsx";
import { EmptyState, LoadingOrError, StaleNotice } from "../components/states.tsx";
import { SectionHeader } from "../components/sections.tsx";
import { readablePath } from "../dataset/field_path.ts";
import { UsageDocument, type UsageQuery } from "../generated/operations.ts";
import { trustTexts } from "../trust_texts.ts";
import { texts } from "../texts.ts";
import { TimeBars, type Point } from "./plots.tsx";
import { Profile } from "./profile.tsx";

const words = trustTexts.usage;

const PERIODS = ["MONTH", "QUARTER", "YEAR"] as const;
type Period = (typeof PERIODS)[number];

const DAY_MS = 24 * 60 * 60 * 1000;
const MAX_LISTED = 10;

const month = new Intl.DateTimeFormat(texts.locale, {
  month: "long",
  year: "numeric",
  timeZone: "UTC",
});
const day = new Intl.DateTimeFormat(texts.locale, { dateStyle: "medium", timeZone: "UTC" });

type Stats = NonNullable<NonNullable<UsageQuery["dataset"]>["usageStats"]>;

/** The tab "Usage" of a dataset: who uses it, and what is in it. */
export default function Usage({ urn }: { readonly urn: string }) {
  return (
    <>
      <Queries urn={urn} />
      <Profile urn={urn} />
    </>
  );
}

function Queries({ urn }: { readonly urn: string }) {
  const [range, setRange] = useState<Period>("MONTH");
  const read = useApiQuery(UsageDocument, { urn, range }, { keepPrevious: true });
  const stats = read.data?.dataset?.usageStats;
  const isHidden = read.data?.dataset?.privileges?.canViewDatasetUsage === false;
  const total = stats?.aggregations?.totalSqlQueries ?? 0;
  return (
    <section className="section" aria-labelledby="usage">
      <SectionHeader title={words.heading} id="usage">
        {total > 0 && (
          <span className="hint" role="status">
            {words.total(total, stats?.aggregations?.uniqueUserCount ?? 0)}
          </span>
        )}
        {!isHidden && (
          <select
            className="period"
            aria-label={words.period}
            value={range}
            onChange={(event) => setRange(event.target.value as Period)}
          >
            {PERIODS.map((period) => (
              <option key={period} value={period}>
                {words.periods[period]}
              </option>
            ))}
          </select>
        )}
      </SectionHeader>
      {read.data === undefined && <LoadingOrError read={read} />}
      <StaleNotice read={read} />
      {isHidden && <p className="hint">{words.hidden}</p>}
      {!isHidden && read.data !== undefined && (
        <QueryStats urn={urn} stats={stats ?? null} range={range} />
      )}
    </section>
  );
}

function QueryStats({
  urn,
  stats,
  range,
}: {
  readonly urn: string;
  readonly stats: Stats | null;
  readonly range: Period;
}) {
  const isByMonth = range === "YEAR";
  const points = useMemo(
    () => (isByMonth ? byMonth(daysOf(stats)) : everyDay(daysOf(stats))),
    [stats, isByMonth],
  );
  if (points.length === 0) {
    return range === "YEAR" ? (
      <EmptyState title={words.none} hint={words.noneHint} />
    ) : (
      <EmptyState title={words.noneInRange} hint={words.noneHint} />
    );
  }
  const users = [...(stats?.aggregations?.users ?? [])];
  const columns = [...(stats?.aggregations?.fields ?? [])];
  const most = (entries: readonly ({ readonly count?: number | null } | null)[]) =>
    Math.max(1, ...entries.map((entry) => entry?.count ?? 0));
  const numbers = (count: number) => ({
    short: trustTexts.short(count),
    exact: words.queries(count),
  });
  return (
    <>
      <TimeBars
        points={points}
        caption={isByMonth ? words.byMonth : words.byDay}
        formatTime={(time) => (isByMonth ? month : day).format(time)}
      />
      <div className="usage-lists">
        <div>
          <h3>{words.users}</h3>
          {users.length === 0 ? (
            <p className="hint">{words.noUsers}</p>
          ) : (
            <CoverageBars
              caption={words.users}
              bars={users.slice(0, MAX_LISTED).map((entry, index) => ({
                key: entry?.user?.urn ?? entry?.userEmail ?? String(index),
                label:
                  entry?.user == null ? (
                    (entry?.userEmail ?? texts.common.unknown)
                  ) : (
                    <EntityLink entity={entry.user} />
                  ),
                part: entry?.count ?? 0,
                whole: most(users),
                numbers: numbers(entry?.count ?? 0),
              }))}
            />
          )}
        </div>
        <div>
          <h3>{words.columns}</h3>
          {columns.length === 0 ? (
            <p className="hint">{words.noColumns}</p>
          ) : (
            <CoverageBars
              caption={words.columns}
              bars={columns.slice(0, MAX_LISTED).map((entry) => ({
                key: entry?.fieldName ?? "",
                label: (
                  <Link href={addresses.column(urn, entry?.fieldName ?? "")}>
                    <code>{readablePath(entry?.fieldName ?? "")}</code>
                  </Link>
                ),
                part: entry?.count ?? 0,
                whole: most(columns),
                numbers: numbers(entry?.count ?? 0),
              }))}
            />
          )}
        </div>
      </div>
    </>
  );
}

/** The reported days, oldest first. */
const daysOf = (stats: Stats | null): readonly Point[] =>
  (stats?.buckets ?? [])
    .map((bucket) => ({
      time: bucket?.bucket ?? 0,
      value: bucket?.metrics?.totalSqlQueries ?? 0,
    }))
    .sort((left, right) => left.time - right.time);

/** Fills the days without a report, so that gaps are visible. */
function everyDay(days: readonly Point[]): readonly Point[] {
  const values = new Map(days.map(({ time, value }) => [time, value]));
  const first = days[0]?.time ?? 0;
  const count = days.length === 0 ? 0 : Math.round(((days.at(-1)?.time ?? 0) - first) / DAY_MS) + 1;
  return Array.from({ length: count }, (_, index) => {
    const time = first + index * DAY_MS;
    return { time, value: values.get(time) ?? 0 };
  });
}

function byMonth(days: readonly Point[]): readonly Point[] {
  const months = new Map<number, number>();
  for (const { time, value } of days) {
    const date = new Date(time);
    const start = Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
    months.set(start, (months.get(start) ?? 0) + value);
  }
  return [...months].map(([time, value]) => ({ time, value }));
}
