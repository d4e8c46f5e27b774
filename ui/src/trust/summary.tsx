// What an analyst needs to decide whether to use a dataset: in the rail, and in short in the header.

import type { ReactNode } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { RelativeTime } from "../components/common.tsx";
import { FormattedText } from "../components/formatted_text.tsx";
import { ErrorMessage, Skeleton } from "../components/states.tsx";
import { TrustSummaryDocument, type TrustSummaryQuery } from "../generated/operations.ts";
import { RailSection } from "../rail/section.tsx";
import { trustTexts } from "../trust_texts.ts";

const words = trustTexts.summary;

type Dataset = NonNullable<TrustSummaryQuery["dataset"]>;

/** The numbers that both views show. */
function numbersOf(dataset: Dataset) {
  const healthOf = (type: string) => (dataset.health ?? []).find((it) => it.type === type);
  const assertions = healthOf("ASSERTIONS");
  const run = (assertions?.latestAssertionStatusByType ?? []).reduce(
    (sum, { total }) => sum + total,
    0,
  );
  return {
    active: healthOf("INCIDENTS")?.activeIncidentHealthDetails?.count ?? 0,
    incidentTitle: healthOf("INCIDENTS")?.activeIncidentHealthDetails?.latestIncidentTitle,
    checks: dataset.assertions?.total ?? 0,
    run,
    failing: (assertions?.causes ?? []).length,
    updated: dataset.operations?.[0]?.lastUpdatedTimestamp,
  };
}

/** The state of a fact, shown by a symbol and a color. */
type State = "good" | "bad" | "none";

function Fact({
  name,
  state = "none",
  children,
}: {
  readonly name: string;
  readonly state?: State;
  readonly children: ReactNode;
}) {
  return (
    <div className="trust-fact">
      <dt>{name}</dt>
      <dd data-state={state}>{children}</dd>
    </div>
  );
}

/** The part "Trust" of the rail. */
export function TrustSummary({ urn }: { readonly urn: string }) {
  const read = useApiQuery(TrustSummaryDocument, { urn });
  const dataset = read.data?.dataset;
  return (
    <RailSection id="trust" heading={words.heading}>
      {read.isPending && <Skeleton lines={4} />}
      {read.isLoadingError && <ErrorMessage error={read.error} retry={() => void read.refetch()} />}
      {dataset != null && <Facts urn={urn} dataset={dataset} />}
    </RailSection>
  );
}

function Facts({ urn, dataset }: { readonly urn: string; readonly dataset: Dataset }) {
  const { active, incidentTitle, checks, run, failing, updated } = numbersOf(dataset);
  const profile = dataset.datasetProfiles?.[0];
  const queries = dataset.statsSummary?.queryCountLast30Days ?? 0;
  const contract = dataset.contract?.status?.state;
  const { privileges } = dataset;
  const quality = addresses.datasetTab(urn, "Quality");
  const usage = addresses.datasetTab(urn, "Usage");
  return (
    <dl className="trust-facts">
      <Fact name={words.updated}>
        {updated !== undefined ? (
          <RelativeTime time={updated} />
        ) : (
          <Absent isVisible={privileges?.canViewDatasetOperations} text={words.neverUpdated} />
        )}
      </Fact>
      <Fact name={words.checks} state={failing > 0 ? "bad" : run > 0 ? "good" : "none"}>
        {checks === 0 ? (
          <span className="hint">{words.noChecks}</span>
        ) : (
          <Link href={quality}>
            {failing > 0
              ? words.failing(failing, checks)
              : run > 0
                ? words.passing(run)
                : words.notRun(checks)}
          </Link>
        )}
      </Fact>
      <Fact name={words.incidents} state={active > 0 ? "bad" : "none"}>
        {active === 0 ? (
          <span className="hint">{words.noIncidents}</span>
        ) : (
          <Link href={quality} title={incidentTitle ?? undefined}>
            {words.active(active)}
          </Link>
        )}
      </Fact>
      {contract != null && (
        <Fact name={words.contract}>
          <Link href={quality}>{trustTexts.contract.states[contract]}</Link>
        </Fact>
      )}
      <Fact name={words.rows}>
        {profile?.rowCount != null ? (
          <Link href={usage}>{words.rowsValue(profile.rowCount, profile.columnCount)}</Link>
        ) : (
          <Absent isVisible={privileges?.canViewDatasetProfile} text={words.notProfiled} />
        )}
      </Fact>
      {profile !== undefined && (
        <Fact name={words.profiled}>
          <RelativeTime time={profile.timestampMillis} />
        </Fact>
      )}
      {queries > 0 && (
        <Fact name={words.used}>
          <Link href={usage}>{words.used30(queries)}</Link>
        </Fact>
      )}
    </dl>
  );
}

/** Says that nothing was reported, or that the user may not see it. */
function Absent({
  isVisible,
  text,
}: {
  readonly isVisible: boolean | null | undefined;
  readonly text: string;
}) {
  return <span className="hint">{isVisible === false ? words.hidden : text}</span>;
}

/** The most important facts, for the header of the page. */
export function TrustBadges({ urn }: { readonly urn: string }) {
  const dataset = useApiQuery(TrustSummaryDocument, { urn }).data?.dataset;
  return dataset == null ? null : <Badges urn={urn} dataset={dataset} />;
}

function Badges({ urn, dataset }: { readonly urn: string; readonly dataset: Dataset }) {
  const { active, incidentTitle, failing, run, updated } = numbersOf(dataset);
  const quality = addresses.datasetTab(urn, "Quality");
  return (
    <>
      {active > 0 && (
        <Link
          className="trust-badge"
          data-state="bad"
          href={quality}
          title={incidentTitle ?? undefined}
        >
          {words.badges.incidents(active)}
        </Link>
      )}
      {failing > 0 ? (
        <Link className="trust-badge" data-state="bad" href={quality}>
          {words.badges.failing(failing)}
        </Link>
      ) : (
        run > 0 && (
          <Link className="trust-badge" data-state="good" href={quality}>
            {words.badges.passing}
          </Link>
        )
      )}
      {updated !== undefined && (
        <span className="trust-badge">
          <FormattedText
            text={words.badges.updated}
            values={{ when: <RelativeTime time={updated} /> }}
          />
        </span>
      )}
    </>
  );
}
