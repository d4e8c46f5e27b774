// What a check demands, as sentences.

import { count, plural } from "./text_forms.ts";

/** A number in a condition, written as people write it; any other text as it is. */
const written = (value: string) => {
  const number = Number(value);
  return value.trim() !== "" && Number.isFinite(number) ? count(number) : value;
};

export interface Condition {
  readonly value?: string | undefined;
  readonly min?: string | undefined;
  readonly max?: string | undefined;
}

type Sentence = (subject: string, condition: Condition) => string;

const value = ({ value: text }: Condition) => written(text ?? "?");
const range = ({ min, max }: Condition) => `${written(min ?? "?")} and ${written(max ?? "?")}`;

/** A sentence for each operator about what is compared. */
const conditions: Readonly<Record<string, Sentence>> = {
  BETWEEN: (subject, it) => `${subject} must be between ${range(it)}`,
  LESS_THAN: (subject, it) => `${subject} must be less than ${value(it)}`,
  LESS_THAN_OR_EQUAL_TO: (subject, it) => `${subject} must be at most ${value(it)}`,
  GREATER_THAN: (subject, it) => `${subject} must be more than ${value(it)}`,
  GREATER_THAN_OR_EQUAL_TO: (subject, it) => `${subject} must be at least ${value(it)}`,
  EQUAL_TO: (subject, it) => `${subject} must be ${value(it)}`,
  NOT_EQUAL_TO: (subject, it) => `${subject} must not be ${value(it)}`,
  NULL: (subject) => `${subject} must be empty`,
  NOT_NULL: (subject) => `${subject} must not be empty`,
  CONTAIN: (subject, it) => `${subject} must contain ${value(it)}`,
  END_WITH: (subject, it) => `${subject} must end with ${value(it)}`,
  START_WITH: (subject, it) => `${subject} must start with ${value(it)}`,
  REGEX_MATCH: (subject, it) => `${subject} must match ${value(it)}`,
  IN: (subject, it) => `${subject} must be one of ${value(it)}`,
  NOT_IN: (subject, it) => `${subject} must not be one of ${value(it)}`,
  IS_TRUE: (subject) => `${subject} must be true`,
  IS_FALSE: (subject) => `${subject} must be false`,
};

export const checkTexts = {
  condition: (operator: string, subject: string, condition: Condition) =>
    (conditions[operator] ?? checkTexts.unknown)(subject, condition),
  unknown: (subject: string) => `${subject} must meet the condition of the source`,
  subjects: {
    rows: "The number of rows",
    rowChange: "The change of the number of rows",
    rowChangePercent: "The change of the number of rows in percent",
    result: "The result of the statement",
    column: (name: string) => `Every value of ${name}`,
    dataset: "The dataset",
  },
  /** The subject of a check on a metric of a column, or on an aggregation of its values. */
  metrics: {
    UNIQUE_COUNT: (column: string) => `The number of distinct values of ${column}`,
    UNIQUE_PERCENTAGE: (column: string) => `The percentage of distinct values of ${column}`,
    UNIQUE_PROPOTION: (column: string) => `The share of distinct values of ${column}`,
    NULL_COUNT: (column: string) => `The number of empty values of ${column}`,
    NULL_PERCENTAGE: (column: string) => `The percentage of empty values of ${column}`,
    NULL_PROPORTION: (column: string) => `The share of empty values of ${column}`,
    MIN: (column: string) => `The smallest value of ${column}`,
    MAX: (column: string) => `The largest value of ${column}`,
    MEAN: (column: string) => `The mean of ${column}`,
    MEDIAN: (column: string) => `The median of ${column}`,
    SUM: (column: string) => `The sum of ${column}`,
    STDDEV: (column: string) => `The standard deviation of ${column}`,
    NEGATIVE_COUNT: (column: string) => `The number of negative values of ${column}`,
    NEGATIVE_PERCENTAGE: (column: string) => `The percentage of negative values of ${column}`,
    ZERO_COUNT: (column: string) => `The number of zeros of ${column}`,
    ZERO_PERCENTAGE: (column: string) => `The percentage of zeros of ${column}`,
    MIN_LENGTH: (column: string) => `The length of the shortest value of ${column}`,
    MAX_LENGTH: (column: string) => `The length of the longest value of ${column}`,
    EMPTY_COUNT: (column: string) => `The number of blank values of ${column}`,
    EMPTY_PERCENTAGE: (column: string) => `The percentage of blank values of ${column}`,
    ROW_COUNT: () => "The number of rows",
    COLUMN_COUNT: () => "The number of columns",
    COLUMNS: () => "The list of columns",
    IDENTITY: (column: string) => `Every value of ${column}`,
  } as Readonly<Record<string, (column: string) => string>>,
  interval: (unit: string, number: number) => {
    const forms: Readonly<Record<string, { readonly one: string; readonly other: string }>> = {
      SECOND: { one: "second", other: "# seconds" },
      MINUTE: { one: "minute", other: "# minutes" },
      HOUR: { one: "hour", other: "# hours" },
      DAY: { one: "day", other: "# days" },
      WEEK: { one: "week", other: "# weeks" },
      MONTH: { one: "month", other: "# months" },
      QUARTER: { one: "quarter", other: "# quarters" },
      YEAR: { one: "year", other: "# years" },
    };
    return plural(number, forms[unit] ?? { other: `# ${unit.toLowerCase()}` });
  },
  freshEvery: (interval: string) => `The data must change at least every ${interval}`,
  freshCron: (cron: string, zone: string) => `The data must change by ${cron} (cron, ${zone})`,
  freshSinceLast: "The data must change between two checks",
  fresh: "The data must change on schedule",
  schema: {
    EXACT_MATCH: (columns: number) =>
      plural(columns, {
        one: "The dataset must have exactly # column, as listed",
        other: "The dataset must have exactly the # listed columns",
      }),
    SUPERSET: (columns: number) =>
      plural(columns, {
        one: "The dataset must have at least # column, as listed",
        other: "The dataset must have at least the # listed columns",
      }),
    SUBSET: (columns: number) =>
      plural(columns, {
        one: "The dataset must have no columns besides # listed one",
        other: "The dataset must have no columns besides the # listed ones",
      }),
  },
};
