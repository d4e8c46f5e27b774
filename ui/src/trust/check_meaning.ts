// What a check demands, as one sentence, from its definition.

import type { AssertionEntryFragment, ComparisonFragment } from "../generated/operations.ts";
import { checkTexts } from "../check_texts.ts";
import { texts } from "../texts.ts";

type Info = NonNullable<AssertionEntryFragment["info"]>;

const words = checkTexts;

/** A set or list of values is JSON text; others are as written. */
function plainValue(value: string, type: string): string {
  if (type !== "SET" && type !== "LIST") return value;
  try {
    const values: unknown = JSON.parse(value);
    return Array.isArray(values) ? texts.list(values.map(String)) : value;
  } catch {
    return value;
  }
}

function condition(
  operator: string,
  subject: string,
  parameters: ComparisonFragment | null | undefined,
): string {
  const { value, minValue, maxValue } = parameters ?? {};
  return words.condition(operator, subject, {
    value: value == null ? undefined : plainValue(value.value, value.type),
    min: minValue?.value,
    max: maxValue?.value,
  });
}

const metric = (name: string, column: string) =>
  words.metrics[name]?.(column) ?? words.subjects.column(column);

function freshness({ schedule }: NonNullable<Info["freshnessAssertion"]>): string {
  if (schedule?.fixedInterval != null) {
    const { unit, multiple } = schedule.fixedInterval;
    return words.freshEvery(words.interval(unit, multiple));
  }
  if (schedule?.cron != null) return words.freshCron(schedule.cron.cron, schedule.cron.timezone);
  return schedule?.type === "SINCE_THE_LAST_CHECK" ? words.freshSinceLast : words.fresh;
}

function volume({ rowCountTotal, rowCountChange }: NonNullable<Info["volumeAssertion"]>): string {
  if (rowCountTotal != null)
    return condition(rowCountTotal.operator, words.subjects.rows, rowCountTotal.parameters);
  if (rowCountChange == null) return words.unknown(words.subjects.rows);
  const { type, operator, parameters } = rowCountChange;
  const { rowChange, rowChangePercent } = words.subjects;
  return condition(operator, type === "PERCENTAGE" ? rowChangePercent : rowChange, parameters);
}

function column(info: NonNullable<Info["fieldAssertion"]>): string {
  const { fieldValuesAssertion: values, fieldMetricAssertion: metrics } = info;
  if (values != null) {
    return condition(values.operator, words.subjects.column(values.field.path), values.parameters);
  }
  if (metrics == null) return words.unknown(words.subjects.dataset);
  return condition(
    metrics.operator,
    metric(metrics.metric, metrics.field.path),
    metrics.parameters,
  );
}

function dataset(info: NonNullable<Info["datasetAssertion"]>): string {
  const columns = texts.list((info.fields ?? []).map(({ path }) => path));
  const subject =
    info.aggregation != null
      ? metric(info.aggregation, columns)
      : columns === ""
        ? words.subjects.dataset
        : words.subjects.column(columns);
  return condition(info.operator, subject, info.parameters);
}

/** The sentence, or nothing if the definition has only a description. */
export function meaningOf(info: Info): string | undefined {
  if (info.freshnessAssertion != null) return freshness(info.freshnessAssertion);
  if (info.volumeAssertion != null) return volume(info.volumeAssertion);
  if (info.fieldAssertion != null) return column(info.fieldAssertion);
  if (info.sqlAssertion != null)
    return condition(
      info.sqlAssertion.operator,
      words.subjects.result,
      info.sqlAssertion.parameters,
    );
  if (info.datasetAssertion != null) return dataset(info.datasetAssertion);
  if (info.schemaAssertion != null) {
    const { compatibility, fields } = info.schemaAssertion;
    return words.schema[compatibility](fields.length);
  }
  return undefined;
}

/** The SQL of a check, if it has some. */
export const statementOf = (info: Info): string | undefined =>
  info.sqlAssertion?.statement ??
  info.datasetAssertion?.logic ??
  info.customAssertion?.logic ??
  undefined;
