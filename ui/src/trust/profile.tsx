import { useMemo, type ReactNode } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { CoverageBars } from "../components/charts.tsx";
import { Byline, RelativeTime } from "../components/common.tsx";
import { FormattedText } from "../components/formatted_text.tsx";
import { EmptyState, LoadingOrError, StaleNotice } from "../components/states.tsx";
import { SectionHeader } from "../components/sections.tsx";
import { TableScroll } from "../components/table_scroll.tsx";
import { readablePath } from "../dataset/field_path.ts";
import { ProfileDocument, type ProfileQuery } from "../generated/operations.ts";
import { trustTexts } from "../trust_texts.ts";
import { texts } from "../texts.ts";
import { useActors } from "./actors.ts";
import { ShareBar, TimeLine, type Point } from "./plots.tsx";

const words = trustTexts.profile;

type Dataset = NonNullable<ProfileQuery["dataset"]>;
type Sizes = NonNullable<Dataset["sizes"]>;
type ColumnProfile = NonNullable<NonNullable<Dataset["latest"]>[number]["fieldProfiles"]>[number];
type Operations = NonNullable<Dataset["operations"]>;

/** The statistics of a dataset and the changes of its data. */
export function Profile({ urn }: { readonly urn: string }) {
  const read = useApiQuery(ProfileDocument, { urn });
  if (read.data === undefined) return <LoadingOrError read={read} />;
  const dataset = read.data.dataset;
  return (
    <>
      <StaleNotice read={read} />
      <Statistics
        urn={urn}
        sizes={dataset?.sizes ?? []}
        columns={dataset?.latest?.[0]?.fieldProfiles ?? []}
        isHidden={dataset?.privileges?.canViewDatasetProfile === false}
      />
      <DataChanges
        operations={dataset?.operations ?? []}
        isHidden={dataset?.privileges?.canViewDatasetOperations === false}
      />
    </>
  );
}

function Statistics({
  urn,
  sizes,
  columns,
  isHidden,
}: {
  readonly urn: string;
  /** Newest first. */
  readonly sizes: Sizes;
  readonly columns: readonly ColumnProfile[];
  readonly isHidden: boolean;
}) {
  const latest = sizes[0];
  const series = (value: (size: Sizes[number]) => number | null | undefined): readonly Point[] =>
    sizes
      .flatMap((size) => {
        const number = value(size);
        return number == null ? [] : [{ time: size.timestampMillis, value: number }];
      })
      .reverse();
  const rows = useMemo(() => series(({ rowCount }) => rowCount), [sizes]);
  const widths = useMemo(() => series(({ columnCount }) => columnCount), [sizes]);
  return (
    <section className="section" aria-labelledby="statistics">
      <SectionHeader title={words.heading} id="statistics">
        {latest !== undefined && (
          <span className="hint">
            <FormattedText
              text={words.at}
              values={{ when: <RelativeTime time={latest.timestampMillis} /> }}
            />
          </span>
        )}
      </SectionHeader>
      {isHidden && <p className="hint">{words.hidden}</p>}
      {!isHidden && latest === undefined && <EmptyState title={words.none} hint={words.noneHint} />}
      {latest !== undefined && (
        <>
          <dl className="figures">
            <Figure name={words.rows} value={latest.rowCount} format={texts.number} />
            <Figure name={words.columns} value={latest.columnCount} format={texts.number} />
            <Figure name={words.size} value={latest.sizeInBytes} format={words.bytes} />
          </dl>
          <div className="plots">
            {rows.length > 1 && (
              <TimeLine points={rows} caption={words.rowsOverTime} format={trustTexts.short} />
            )}
            {new Set(widths.map(({ value }) => value)).size > 1 && (
              <TimeLine points={widths} caption={words.columnsOverTime} />
            )}
          </div>
          {columns.length > 0 && <ColumnStatistics urn={urn} columns={columns} />}
        </>
      )}
    </section>
  );
}

function Figure({
  name,
  value,
  format,
}: {
  readonly name: string;
  readonly value: number | null | undefined;
  readonly format: (value: number) => string;
}) {
  if (value == null) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{format(value)}</dd>
    </div>
  );
}

function ColumnStatistics({
  urn,
  columns,
}: {
  readonly urn: string;
  readonly columns: readonly ColumnProfile[];
}) {
  return (
    <TableScroll label={words.byColumn}>
      <table className="data-table stacked column-statistics">
        <caption className="visually-hidden">{words.byColumn}</caption>
        <thead>
          <tr>
            <th scope="col">{words.column}</th>
            <th scope="col">{words.nulls}</th>
            <th scope="col">{words.distinct}</th>
            <th scope="col">{words.range}</th>
            <th scope="col">{words.mean}</th>
            <th scope="col">{words.median}</th>
            <th scope="col">{words.values}</th>
          </tr>
        </thead>
        <tbody>
          {columns.map((column) => (
            <ColumnRow key={column.fieldPath} urn={urn} column={column} />
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}

/** A value of the source, which may be a number written in full. */
function shown(value: string | null | undefined): string | null {
  if (value == null || value === "") return null;
  const number = Number(value);
  return Number.isFinite(number) && value.trim() !== "" && !/^0\d/.test(value)
    ? texts.number(number)
    : value;
}

function ColumnRow({ urn, column }: { readonly urn: string; readonly column: ColumnProfile }) {
  const name = readablePath(column.fieldPath);
  const { nullProportion: nulls, uniqueProportion: distinct, uniqueCount } = column;
  const [min, max] = [shown(column.min), shown(column.max)];
  return (
    <tr>
      <th scope="row">
        <Link href={addresses.column(urn, column.fieldPath)}>
          <code>{name}</code>
        </Link>
      </th>
      <td data-label={words.nulls}>
        {nulls != null && (
          <ShareBar share={nulls} title={words.nullTitle(trustTexts.percent(nulls))} />
        )}
      </td>
      <td data-label={words.distinct}>
        {distinct != null ? (
          <ShareBar
            share={distinct}
            title={
              uniqueCount == null
                ? words.distinctTitle(trustTexts.percent(distinct))
                : words.distinctCount(uniqueCount)
            }
          />
        ) : (
          uniqueCount != null && words.distinctCount(uniqueCount)
        )}
      </td>
      <td data-label={words.range}>
        {(min !== null || max !== null) && `${min ?? "…"} – ${max ?? "…"}`}
      </td>
      <td data-label={words.mean}>{shown(column.mean)}</td>
      <td data-label={words.median}>{shown(column.median)}</td>
      <td>
        <Values column={column} name={name} />
      </td>
    </tr>
  );
}

/** What the source knows about single values: frequencies, quantiles and samples. */
function Values({ column, name }: { readonly column: ColumnProfile; readonly name: string }) {
  const frequencies = [...(column.distinctValueFrequencies ?? [])].sort(
    (left, right) => right.frequency - left.frequency,
  );
  const quantiles = column.quantiles ?? [];
  const samples = column.sampleValues ?? [];
  const parts: ReactNode[] = [];
  if (column.histogram != null && column.histogram.heights.length > 0)
    parts.push(<Histogram key="histogram" histogram={column.histogram} name={name} />);
  if (frequencies.length > 0) {
    const whole = frequencies[0]?.frequency ?? 1;
    parts.push(
      <div key="frequencies">
        <h4>{words.frequencies}</h4>
        <CoverageBars
          caption={words.distribution(name)}
          bars={frequencies.map(({ value, frequency }) => ({
            key: value,
            label: <code>{value}</code>,
            part: frequency,
            whole,
            numbers: { short: trustTexts.short(frequency), exact: texts.number(frequency) },
          }))}
        />
      </div>,
    );
  }
  if (quantiles.length > 0) {
    parts.push(
      <div key="quantiles">
        <h4>{words.quantiles}</h4>
        <dl className="quantiles">
          {quantiles.map(({ quantile, value }) => (
            <div key={quantile}>
              <dt>{words.quantile(trustTexts.percent(Number(quantile)))}</dt>
              <dd>{shown(value)}</dd>
            </div>
          ))}
        </dl>
      </div>,
    );
  }
  if (samples.length > 0) {
    parts.push(
      <div key="samples">
        <h4>{words.samples}</h4>
        <p>
          {samples.map((sample, index) => (
            <code key={index} className="sample">
              {sample}
            </code>
          ))}
        </p>
      </div>,
    );
  }
  if (parts.length === 0) return null;
  return (
    <details>
      <summary aria-label={words.details(name)}>{words.values}</summary>
      {parts}
    </details>
  );
}

/** A bar for each range of values. */
function Histogram({
  histogram: { boundaries, heights },
  name,
}: {
  readonly histogram: NonNullable<ColumnProfile["histogram"]>;
  readonly name: string;
}) {
  const highest = Math.max(...heights, Number.MIN_VALUE);
  const bars = heights.map((height, index) => ({
    range: words.between(shown(boundaries[index]) ?? "…", shown(boundaries[index + 1]) ?? "…"),
    height,
  }));
  return (
    <div>
      <h4>{words.histogram}</h4>
      <div className="histogram" aria-hidden="true">
        {bars.map(({ range, height }) => (
          <span
            key={range}
            style={{ blockSize: `${(100 * height) / highest}%` }}
            title={`${range}: ${texts.number(height)}`}
          />
        ))}
      </div>
      <div className="plot-ends" aria-hidden="true">
        <span>{shown(boundaries[0])}</span>
        <span>{shown(boundaries.at(-1))}</span>
      </div>
      <table className="visually-hidden">
        <caption>{words.distribution(name)}</caption>
        <tbody>
          {bars.map(({ range, height }) => (
            <tr key={range}>
              <th scope="row">{range}</th>
              <td>{texts.number(height)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function DataChanges({
  operations,
  isHidden,
}: {
  readonly operations: Operations;
  readonly isHidden: boolean;
}) {
  const own = trustTexts.operations;
  const actorOf = useActors(operations.map(({ actor }) => actor));
  return (
    <section className="section" aria-labelledby="operations">
      <SectionHeader title={own.heading} id="operations" />
      {isHidden && <p className="hint">{own.hidden}</p>}
      {!isHidden && operations.length === 0 && <p className="hint">{own.none}</p>}
      <ul className="row-list data-changes">
        {operations.map((operation, index) => (
          <li key={index}>
            <span>
              {operation.customOperationType ?? own.kinds[operation.operationType]}
              {operation.numAffectedRows != null && (
                <span className="hint"> {own.rows(operation.numAffectedRows)}</span>
              )}
            </span>
            <Byline
              actor={actorOf(operation.actor)}
              time={operation.lastUpdatedTimestamp}
              by={own.by}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}
