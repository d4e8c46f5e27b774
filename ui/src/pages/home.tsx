import { Link, useLocation } from "wouter";

import * as addresses from "../addresses.ts";
import { useMe, useApiQuery } from "../api/cache.ts";
import { BrowseLinks } from "../browse/links.tsx";
import { BarChart, CoverageBars } from "../components/charts.tsx";
import { SearchBox } from "../components/search_box.tsx";
import { ChangeLine } from "../changes/line.tsx";
import {
  EmptyState,
  GettingStarted,
  StaleNotice,
  ErrorMessage,
  Skeleton,
  combineReads,
  useTitle,
} from "../components/states.tsx";
import { useDomainHierarchy, type DomainHierarchy, type DomainNode } from "../domain_hierarchy.ts";
import {
  ChangesDocument,
  OverviewDocument,
  type ChangesQuery,
  type OverviewQuery,
} from "../generated/operations.ts";
import { Announcements } from "../home/announcements.tsx";
import { Mine } from "../home/mine.tsx";
import { RecentlyViewed } from "../home/viewed.tsx";
import { SavedSearches } from "../saved_searches/list.tsx";
import { ENTITY_TYPE, MISSING } from "../search/state.ts";
import { texts } from "../texts.ts";
import { formatDate } from "../time.ts";

const RECENT_CHANGES = 8;
/** The Domains page lists the others, with a filter. */
const MAX_DOMAINS = 16;
const MAX_COVERAGE_BARS = 10;

export function Home() {
  useTitle(texts.home.title);
  const domains = useDomainHierarchy();
  const { hierarchy } = domains;
  const overview = useApiQuery(OverviewDocument, {});
  const recent = useApiQuery(ChangesDocument, {
    input: { peopleOnly: true, count: RECENT_CHANGES },
  });
  const user = useMe().data?.me?.corpUser.urn;
  const all = combineReads(domains, overview, recent);
  // One error for all sections; those that failed are left out.
  const isFailed = all.isLoadingError && all.error !== null;
  return (
    <div className="home">
      <section className="home-search">
        <h1>{texts.home.heading}</h1>
        <SearchBox isLarge />
        <p className="hint">
          {overview.data !== undefined && hierarchy !== undefined
            ? texts.home.summary(
                overview.data.documentationCoverage.all.datasets,
                hierarchy.byUrn.size,
              )
            : " "}
        </p>
        <BrowseLinks />
      </section>
      {isFailed ? (
        <ErrorMessage error={all.error} retry={() => void all.refetch()} />
      ) : (
        <StaleNotice read={all} />
      )}
      <Announcements />
      <div className="home-columns">
        <div className="home-own">
          {user !== undefined && <Mine user={user} />}
          {user !== undefined && <RecentlyViewed user={user} />}
          <SavedSearches />
        </div>
        {(recent.data !== undefined || !isFailed) && (
          <section aria-labelledby="home-recent">
            <h2 id="home-recent">{texts.home.recent}</h2>
            {recent.data === undefined ? (
              <Skeleton lines={8} />
            ) : (
              <Recent
                page={recent.data.changes}
                isEmptyCatalog={overview.data?.documentationCoverage.all.datasets === 0}
              />
            )}
          </section>
        )}
        <div className="home-catalog">
          {(hierarchy !== undefined || !isFailed) && (
            <section aria-labelledby="home-domains">
              <h2 id="home-domains">{texts.home.domains}</h2>
              {hierarchy === undefined ? (
                <Skeleton lines={8} />
              ) : (
                <TopDomains hierarchy={hierarchy} />
              )}
            </section>
          )}
          {(overview.data !== undefined || !isFailed) && (
            <section aria-labelledby="home-coverage">
              <h2 id="home-coverage">{texts.home.coverage}</h2>
              {overview.data !== undefined && hierarchy !== undefined && (
                <Coverage coverage={overview.data.documentationCoverage} hierarchy={hierarchy} />
              )}
              {(overview.data === undefined || hierarchy === undefined) && !isFailed && (
                <Skeleton lines={8} />
              )}
              {/* Users who do not see everything get no counts. */}
              {overview.data?.changesByWeek.length !== 0 && <h2>{texts.home.activity}</h2>}
              {overview.data !== undefined && overview.data.changesByWeek.length > 0 && (
                <Activity weeks={overview.data.changesByWeek} />
              )}
            </section>
          )}
        </div>
      </div>
    </div>
  );
}

function TopDomains({ hierarchy }: { readonly hierarchy: DomainHierarchy }) {
  const me = useMe();
  if (hierarchy.roots.length === 0) {
    const canCreate = me.data?.me?.platformPrivileges.createDomains === true;
    return (
      <EmptyState title={texts.home.noDomains} hint={texts.home.noDomainsHint}>
        {canCreate && <Link href={addresses.domains}>{texts.domains.create}</Link>}
      </EmptyState>
    );
  }
  // Only the largest, if there are too many.
  const shown =
    hierarchy.roots.length <= MAX_DOMAINS
      ? hierarchy.roots
      : hierarchy.roots
          .toSorted((left, right) => right.totalDatasets - left.totalDatasets)
          .slice(0, MAX_DOMAINS);
  return (
    <>
      <ul className="row-list">
        {shown.map((node) => (
          <li key={node.urn}>
            <Link dir="auto" href={addresses.domain(node.urn)}>
              {node.name}
            </Link>
            <span className="number">{texts.number(node.totalDatasets)}</span>
          </li>
        ))}
      </ul>
      <p className="hint">
        {texts.home.domainsHint} <Link href={addresses.domains}>{texts.home.allDomains}</Link>
      </p>
    </>
  );
}

interface RecentProperties {
  readonly page: ChangesQuery["changes"];
  readonly isEmptyCatalog: boolean;
}

function Recent({ page, isEmptyCatalog }: RecentProperties) {
  if (page.changes.length === 0 && isEmptyCatalog)
    return <EmptyState title={texts.home.noRecent} hint={<GettingStarted />} />;
  return (
    <>
      {page.changes.length === 0 ? (
        <p className="hint">{texts.home.noRecent}</p>
      ) : (
        <ol className="changes changes-narrow">
          {page.changes.map((change) => (
            <ChangeLine key={change.id} change={change} isContinued={false} />
          ))}
        </ol>
      )}
      <p className="hint">
        <Link href={addresses.changes({ period: "week" })}>{texts.home.allChanges}</Link>
      </p>
    </>
  );
}

/** The coverage of a domain including its subdomains. */
function coverageOf(
  node: DomainNode,
  byDomain: ReadonlyMap<string, ColumnCoverage>,
): ColumnCoverage {
  const sum = { columns: 0, describedColumns: 0, ...byDomain.get(node.urn) };
  for (const child of node.children) {
    const subtree = coverageOf(child, byDomain);
    sum.columns += subtree.columns;
    sum.describedColumns += subtree.describedColumns;
  }
  return sum;
}

type ColumnCoverage = Pick<
  OverviewQuery["documentationCoverage"]["all"],
  "columns" | "describedColumns"
>;

function Coverage({
  coverage,
  hierarchy,
}: {
  readonly coverage: OverviewQuery["documentationCoverage"];
  readonly hierarchy: DomainHierarchy;
}) {
  const { all } = coverage;
  const byDomain = new Map(
    coverage.domains.map(({ domain, counts }) => [domain?.urn ?? "", counts]),
  );
  const bar = (key: string, name: string, href: string, sum: ColumnCoverage) => ({
    key,
    label: (
      <Link dir="auto" href={href}>
        {name}
      </Link>
    ),
    part: sum.describedColumns,
    whole: sum.columns,
    numbers: texts.home.coverageOf(sum.describedColumns, sum.columns),
  });
  const ofDomains = hierarchy.roots
    .map((node) => bar(node.urn, node.name, addresses.domain(node.urn), coverageOf(node, byDomain)))
    .filter(({ whole }) => whole > 0)
    .toSorted((left, right) => right.whole - left.whole)
    .slice(0, MAX_COVERAGE_BARS);
  const others = addresses.search("", { [ENTITY_TYPE]: ["DATASET"], [MISSING]: ["domains"] });
  const bars =
    ofDomains.length > 0 && coverage.withoutDomain.columns > 0
      ? [...ofDomains, bar("", texts.home.noDomain, others, coverage.withoutDomain)]
      : ofDomains;
  return (
    <>
      <p>{all.datasets === 0 ? texts.home.coverageNone : texts.home.coverageTotal(all)}</p>
      {bars.length > 0 && <p className="hint">{texts.home.coverageCaption}</p>}
      <CoverageBars bars={bars} caption={texts.home.coverageCaption} />
      <p className="hint">
        {all.describedDatasets < all.datasets && (
          <Link
            href={addresses.search("", { [ENTITY_TYPE]: ["DATASET"], hasDescription: ["false"] })}
          >
            {texts.home.undocumentedCount(all.datasets - all.describedDatasets)}
          </Link>
        )}
      </p>
    </>
  );
}

/** Each bar leads to the changes of its week. */
function Activity({ weeks }: { readonly weeks: OverviewQuery["changesByWeek"] }) {
  const [, navigate] = useLocation();
  const bars = weeks.map((week) => ({
    key: week.time,
    label: texts.home.week(formatDate(week.time)),
    value: week.changes,
    title: texts.home.activityOf(formatDate(week.time), week.changes),
    address: addresses.changes({ period: String(week.time) }),
  }));
  const total = weeks.reduce((sum, week) => sum + week.changes, 0);
  return (
    <figure className="activity">
      <BarChart bars={bars} caption={texts.home.activity} onOpen={navigate} />
      <figcaption className="hint">{texts.home.activityTotal(total, weeks.length)}</figcaption>
    </figure>
  );
}
