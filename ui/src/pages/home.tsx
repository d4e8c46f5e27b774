import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useMe, useRead } from "../api/cache.ts";
import { Bars, Shares } from "../components/plot.tsx";
import { SearchBox } from "../components/search_box.tsx";
import { EntityLink, Stamp } from "../components/small.tsx";
import { Empty, FirstSteps, Outdated, Problem, Skeleton, together, useTitle } from "../components/states.tsx";
import { useForest, type Forest, type Tree } from "../forest.ts";
import {
  OverviewDocument,
  RecentChangesDocument,
  type OverviewQuery,
  type RecentChangesQuery,
} from "../generated/operations.ts";
import { KIND } from "../search/state.ts";
import { texts } from "../texts.ts";
import { dayOf } from "../time.ts";

const RECENT = 9;
/** More domains at the top are a list to search in: the page of domains has a filter. */
const MOST_DOMAINS = 16;
/** More rows are a table to search in, not something to look at. */
const MOST_SHARES = 10;

export function Home() {
  useTitle(texts.home.title);
  const domains = useForest();
  const { forest } = domains;
  const overview = useRead(OverviewDocument, {});
  const recent = useRead(RecentChangesDocument, { count: RECENT });
  const all = together(domains, overview, recent);
  // A part that cannot be read is not there: why, and what to do, is said once for all of them.
  const isFailed = all.isLoadingError && all.error !== null;
  return (
    <div className="home">
      <section className="home-search">
        <h1>{texts.home.heading}</h1>
        <SearchBox isLarge />
        <p className="hint">
          {overview.data !== undefined && forest !== undefined
            ? texts.home.summary(overview.data.documentationCoverage.all.datasets, forest.byUrn.size)
            : " "}
        </p>
      </section>
      {isFailed ? <Problem error={all.error} retry={() => void all.refetch()} /> : <Outdated read={all} />}
      <div className="home-columns">
        {(forest !== undefined || !isFailed) && (
          <section aria-labelledby="home-domains">
            <h2 id="home-domains">{texts.home.domains}</h2>
            {forest === undefined ? <Skeleton lines={8} /> : <TopDomains forest={forest} />}
          </section>
        )}
        {(recent.data !== undefined || !isFailed) && (
          <section aria-labelledby="home-recent">
            <h2 id="home-recent">{texts.home.recent}</h2>
            {recent.data === undefined ? <Skeleton lines={8} /> : <Recent changes={recent.data.recentChanges} />}
          </section>
        )}
        {(overview.data !== undefined || !isFailed) && (
          <section aria-labelledby="home-coverage">
            <h2 id="home-coverage">{texts.home.coverage}</h2>
            {overview.data !== undefined && forest !== undefined && (
              <Coverage coverage={overview.data.documentationCoverage} forest={forest} />
            )}
            {(overview.data === undefined || forest === undefined) && !isFailed && <Skeleton lines={8} />}
            <h2>{texts.home.activity}</h2>
            {overview.data !== undefined && <Activity weeks={overview.data.changesByWeek} />}
          </section>
        )}
      </div>
    </div>
  );
}

function TopDomains({ forest }: { readonly forest: Forest }) {
  const me = useMe();
  if (forest.roots.length === 0) {
    const mayCreate = me.data?.me?.platformPrivileges.createDomains === true;
    return (
      <Empty title={texts.home.noDomains}>
        {mayCreate && <Link href={addresses.domains}>{texts.domains.create}</Link>}
      </Empty>
    );
  }
  // The largest, if there are too many to look at.
  const shown =
    forest.roots.length <= MOST_DOMAINS
      ? forest.roots
      : forest.roots.toSorted((one, other) => other.recursive - one.recursive).slice(0, MOST_DOMAINS);
  return (
    <>
      <ul className="lines">
        {shown.map((tree) => (
          <li key={tree.urn}>
            <Link href={addresses.domain(tree.urn)}>{tree.name}</Link>
            <span className="number">{texts.number(tree.recursive)}</span>
          </li>
        ))}
      </ul>
      <p className="hint">
        {texts.home.domainsHint} <Link href={addresses.domains}>{texts.home.allDomains}</Link>
      </p>
    </>
  );
}

function Recent({ changes }: { readonly changes: RecentChangesQuery["recentChanges"] }) {
  if (changes.length === 0) return <Empty title={texts.home.noRecent} hint={<FirstSteps />} />;
  return (
    <ul className="lines lines-two">
      {changes.map((change) => (
        <li key={change.entity.urn}>
          <EntityLink entity={change.entity} />
          <span className="hint">
            {texts.aspects[change.aspectName] ?? texts.aspectOther} · <Stamp actor={change.actor} time={change.time} />
          </span>
        </li>
      ))}
    </ul>
  );
}

/** What is described in a domain and in everything below it. */
function describedIn(tree: Tree, byDomain: ReadonlyMap<string, Described>): Described {
  const sum = { columns: 0, describedColumns: 0, ...byDomain.get(tree.urn) };
  for (const child of tree.children) {
    const below = describedIn(child, byDomain);
    sum.columns += below.columns;
    sum.describedColumns += below.describedColumns;
  }
  return sum;
}

type Described = Pick<OverviewQuery["documentationCoverage"]["all"], "columns" | "describedColumns">;

function Coverage({
  coverage,
  forest,
}: {
  readonly coverage: OverviewQuery["documentationCoverage"];
  readonly forest: Forest;
}) {
  const { all } = coverage;
  const byDomain = new Map(coverage.domains.map(({ domain, counts }) => [domain?.urn ?? "", counts]));
  const shares = forest.roots
    .map((tree) => ({ tree, sum: describedIn(tree, byDomain) }))
    .filter(({ sum }) => sum.columns > 0)
    .map(({ tree, sum }) => ({
      key: tree.urn,
      label: <Link href={addresses.domain(tree.urn)}>{tree.name}</Link>,
      part: sum.describedColumns,
      whole: sum.columns,
      numbers: texts.home.coverageOf(sum.describedColumns, sum.columns),
    }))
    .toSorted((one, other) => other.whole - one.whole)
    .slice(0, MOST_SHARES);
  return (
    <>
      <p>{all.datasets === 0 ? texts.home.coverageNone : texts.home.coverageTotal(all)}</p>
      <Shares shares={shares} caption={texts.home.coverageHint} />
      <p className="hint">
        {shares.length > 0 && `${texts.home.coverageHint} `}
        {all.describedDatasets < all.datasets && (
          <Link href={addresses.search("", { [KIND]: ["DATASET"], hasDescription: ["false"] })}>
            {texts.home.undocumented}
          </Link>
        )}
      </p>
    </>
  );
}

function Activity({ weeks }: { readonly weeks: OverviewQuery["changesByWeek"] }) {
  const bars = weeks.map((week) => ({
    key: week.time,
    label: texts.home.week(dayOf(week.time)),
    value: week.changes,
    title: texts.home.activityOf(dayOf(week.time), week.changes),
  }));
  const total = weeks.reduce((sum, week) => sum + week.changes, 0);
  return (
    <figure className="activity">
      <Bars bars={bars} caption={texts.home.activity} />
      <figcaption className="hint">{texts.home.activityTotal(total, weeks.length)}</figcaption>
    </figure>
  );
}
