import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useMe, useRead } from "../api/cache.ts";
import { Bars, Shares } from "../components/plot.tsx";
import { SearchBox } from "../components/search_box.tsx";
import { EntityLink, Stamp } from "../components/small.tsx";
import { Empty, FirstSteps, Problem, Skeleton, useTitle } from "../components/states.tsx";
import { useForest, type Forest, type Tree } from "../forest.ts";
import { OverviewDocument, RecentChangesDocument, type OverviewQuery } from "../generated/operations.ts";
import { texts } from "../texts.ts";
import { dayOf } from "../time.ts";

const RECENT = 9;
/** More domains at the top are a list to search in: the page of domains has a filter. */
const MOST_DOMAINS = 16;
/** More rows are a table to search in, not something to look at. */
const MOST_SHARES = 10;

export function Home() {
  useTitle(texts.home.title);
  const { forest, error, retry } = useForest();
  const overview = useRead(OverviewDocument, {});
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
      {error !== null && <Problem error={error} retry={retry} />}
      {overview.isError && <Problem error={overview.error} retry={() => void overview.refetch()} />}
      <div className="home-columns">
        <section aria-labelledby="home-domains">
          <h2 id="home-domains">{texts.home.domains}</h2>
          {forest === undefined ? <Skeleton lines={8} /> : <TopDomains forest={forest} />}
        </section>
        <section aria-labelledby="home-recent">
          <h2 id="home-recent">{texts.home.recent}</h2>
          <Recent />
        </section>
        <section aria-labelledby="home-coverage">
          <h2 id="home-coverage">{texts.home.coverage}</h2>
          {overview.data === undefined || forest === undefined ? (
            <Skeleton lines={8} />
          ) : (
            <Coverage coverage={overview.data.documentationCoverage} forest={forest} />
          )}
          <h2>{texts.home.activity}</h2>
          {overview.data !== undefined && <Activity weeks={overview.data.changesByWeek} />}
        </section>
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

function Recent() {
  const recent = useRead(RecentChangesDocument, { count: RECENT });
  if (recent.isPending) return <Skeleton lines={8} />;
  if (recent.isError) return <Problem error={recent.error} retry={() => void recent.refetch()} />;
  const changes = recent.data.recentChanges;
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
          <Link href={addresses.search("", { hasDescription: ["false"] })}>{texts.home.undocumented}</Link>
        )}
      </p>
    </>
  );
}

function Activity({ weeks }: { readonly weeks: OverviewQuery["changesByWeek"] }) {
  const bars = weeks.map((week) => ({
    key: week.time,
    value: week.changes,
    title: texts.home.activityOf(dayOf(week.time), week.changes),
  }));
  const total = weeks.reduce((sum, week) => sum + week.changes, 0);
  return (
    <figure className="activity">
      <Bars bars={bars} title={texts.home.activity} />
      <figcaption className="hint">{texts.home.activityTotal(total, weeks.length)}</figcaption>
    </figure>
  );
}
