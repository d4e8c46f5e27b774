import { RelativeTime } from "../components/common.tsx";
import { isSafeUrl } from "../components/markdown.tsx";
import { EmptyState } from "../components/states.tsx";
import { SectionHeader } from "../components/sections.tsx";
import { TableScroll } from "../components/table_scroll.tsx";
import type { AssertionEntryFragment, QualityQuery } from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { trustTexts } from "../trust_texts.ts";
import { texts } from "../texts.ts";
import { formatDateTime } from "../time.ts";
import { meaningOf, statementOf } from "./check_meaning.ts";
import { Sql } from "./sql.tsx";

const words = trustTexts.checks;

type Run = NonNullable<AssertionEntryFragment["runEvents"]>["runEvents"][number];
export type Contract = NonNullable<NonNullable<QualityQuery["dataset"]>["contract"]>;

const runsOf = (check: AssertionEntryFragment) => check.runEvents?.runEvents ?? [];

/** The result of the last run that ended. */
export const lastResult = (check: AssertionEntryFragment) =>
  runsOf(check).find(({ result }) => result != null && result.type !== "INIT")?.result?.type;

/** The URNs of the checks of a contract. */
export const checksOf = ({ properties }: Contract): readonly string[] =>
  [
    ...(properties?.freshness ?? []),
    ...(properties?.schema ?? []),
    ...(properties?.dataQuality ?? []),
  ].map(({ assertion }) => assertion.urn);

/** The checks of a dataset, those that fail first. */
export function Checks({
  checks,
  total,
  contract,
}: {
  readonly checks: readonly AssertionEntryFragment[];
  readonly total: number;
  readonly contract: Contract | null | undefined;
}) {
  const guaranteed = new Set(contract == null ? [] : checksOf(contract));
  const order = (check: AssertionEntryFragment) =>
    ["FAILURE", "ERROR"].includes(lastResult(check) ?? "") ? 0 : 1;
  const sorted = [...checks].sort((left, right) => order(left) - order(right));
  return (
    <section className="section" aria-labelledby="checks">
      <SectionHeader title={words.heading} id="checks">
        {total > checks.length && <span className="hint">{words.first(checks.length, total)}</span>}
      </SectionHeader>
      {checks.length === 0 ? (
        <EmptyState title={words.none} hint={words.noneHint} />
      ) : (
        <TableScroll label={words.heading}>
          <table className="data-table stacked checks">
            <thead>
              <tr>
                <th scope="col">{words.check}</th>
                <th scope="col">{words.runs}</th>
                <th scope="col">{words.lastRun}</th>
                <th scope="col">{words.lastFailure}</th>
              </tr>
            </thead>
            <tbody>
              {sorted.map((check) => (
                <CheckRow key={check.urn} check={check} isGuaranteed={guaranteed.has(check.urn)} />
              ))}
            </tbody>
          </table>
        </TableScroll>
      )}
    </section>
  );
}

function CheckRow({
  check,
  isGuaranteed,
}: {
  readonly check: AssertionEntryFragment;
  readonly isGuaranteed: boolean;
}) {
  const { info, platform } = check;
  const runs = runsOf(check);
  const last = runs[0];
  const failure = check.failures?.runEvents[0];
  const meaning = info == null ? undefined : meaningOf(info);
  const statement = info == null ? undefined : statementOf(info);
  const description = info?.description ?? "";
  return (
    <tr>
      <th scope="row">
        <span dir="auto">{description === "" ? (meaning ?? nameOf(check)) : description}</span>
        {description !== "" && meaning !== undefined && (
          <span className="check-meaning">{meaning}</span>
        )}
        <span className="hint check-kind">
          {info != null && words.kinds[info.type]} · {nameOf(platform)}
          {info?.source?.type === "INFERRED" && ` · ${words.inferred}`}
          {isGuaranteed && (
            <span className="chip" title={trustTexts.contract.partHint}>
              {trustTexts.contract.part}
            </span>
          )}
          {info?.externalUrl != null && isSafeUrl(info.externalUrl) && (
            <>
              {" · "}
              <a href={info.externalUrl} rel="noopener noreferrer">
                {words.open}
              </a>
            </>
          )}
        </span>
        {statement !== undefined && (
          <details>
            <summary>{words.statement}</summary>
            <Sql text={statement} />
          </details>
        )}
      </th>
      <td>
        {runs.length === 0 ? (
          <span className="hint">{words.neverRun}</span>
        ) : (
          <RunMarks runs={runs} />
        )}
      </td>
      <td data-label={words.lastRun}>
        {last === undefined ? "–" : <RelativeTime time={last.timestampMillis} />}
      </td>
      <td data-label={words.lastFailure}>
        {failure === undefined ? (
          <span className="hint">{words.neverFailed}</span>
        ) : (
          <RelativeTime time={failure.timestampMillis} />
        )}
      </td>
    </tr>
  );
}

/** A mark for each run, oldest first. Shapes differ too, not only colors. */
function RunMarks({ runs }: { readonly runs: readonly Run[] }) {
  return (
    <ol className="run-marks">
      {[...runs].reverse().map((run) => {
        const type = run.result?.type ?? "INIT";
        const label = describe(run);
        return (
          <li key={run.timestampMillis} className="run-mark" data-result={type} title={label}>
            <span className="visually-hidden">{label}</span>
          </li>
        );
      })}
    </ol>
  );
}

function describe({ timestampMillis, result }: Run): string {
  const name = words.results[result?.type ?? "INIT"];
  const time = formatDateTime(timestampMillis);
  const value =
    result?.error != null
      ? result.error.type
      : result?.actualAggValue != null
        ? texts.number(result.actualAggValue)
        : result?.unexpectedCount != null
          ? words.unexpected(result.unexpectedCount)
          : result?.rowCount != null
            ? words.rowCount(result.rowCount)
            : undefined;
  return value === undefined ? words.run(name, time) : words.runWith(name, time, value);
}
