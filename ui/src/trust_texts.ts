// The part of texts.ts about what tells whether a dataset can be trusted: checks, incidents,
// freshness, usage and statistics. What a check demands is in check_texts.ts.

import { count, plural, short } from "./text_forms.ts";

const checksOf = (number: number) => plural(number, { one: "# check", other: "# checks" });
const queriesOf = (number: number) => plural(number, { one: "# query", other: "# queries" });
const usersOf = (number: number) => plural(number, { one: "# person", other: "# people" });
const rowsOf = (number: number) => plural(number, { one: "# row", other: "# rows" });

/** Some and nearly all are never shown as none and all. */
function percent(share: number): string {
  const format = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });
  if (share > 0 && share < 0.001) return `<${format.format(0.001)}`;
  if (share < 1 && share > 0.999) return `>${format.format(0.999)}`;
  return format.format(share);
}

export const trustTexts = {
  percent,
  short,

  summary: {
    heading: "Trust",
    updated: "Updated",
    rows: "Rows",
    profiled: "Profiled",
    used: "Used",
    checks: "Checks",
    incidents: "Incidents",
    contract: "Contract",
    neverUpdated: "Not reported",
    notProfiled: "Not profiled",
    noChecks: "No checks",
    noIncidents: "None active",
    hidden: "Not visible to you",
    rowsValue: (rows: number, columns: number | null | undefined) =>
      columns === null || columns === undefined
        ? count(rows)
        : `${count(rows)} × ${plural(columns, { one: "# column", other: "# columns" })}`,
    used30: (queries: number) => `${queriesOf(queries)} in 30 days`,
    failing: (failing: number, total: number) => `${count(failing)} of ${count(total)} failing`,
    passing: (total: number) => `${checksOf(total)} passing`,
    notRun: (total: number) => `${checksOf(total)}, not run yet`,
    active: (number: number) => `${count(number)} active`,
    badges: {
      incidents: (number: number) =>
        plural(number, { one: "# active incident", other: "# active incidents" }),
      failing: (number: number) =>
        plural(number, { one: "# failing check", other: "# failing checks" }),
      passing: "All checks pass",
      updated: "Updated {when}",
    },
  },

  checks: {
    heading: "Checks",
    none: "No checks yet",
    noneHint: "Checks come from ingestion, for example from dbt or Great Expectations.",
    first: (shown: number, total: number) => `The first ${count(shown)} of ${count(total)}`,
    check: "Check",
    runs: "Last runs",
    lastRun: "Last run",
    lastFailure: "Last failure",
    neverFailed: "No failure recorded",
    neverRun: "Not run yet",
    open: "Open in the source",
    kinds: {
      DATASET: "Data",
      FRESHNESS: "Freshness",
      VOLUME: "Volume",
      SQL: "SQL",
      FIELD: "Column",
      DATA_SCHEMA: "Schema",
      CUSTOM: "Custom",
    },
    results: { SUCCESS: "passed", FAILURE: "failed", ERROR: "error", INIT: "started" },
    run: (result: string, time: string) => `${result}, ${time}`,
    runWith: (result: string, time: string, value: string) => `${result}, ${time}: ${value}`,
    rowCount: (rows: number) => rowsOf(rows),
    unexpected: (rows: number) =>
      plural(rows, { one: "# unexpected value", other: "# unexpected values" }),
    statement: "Statement",
    inferred: "inferred",
  },

  contract: {
    heading: "Data contract",
    none: "No data contract",
    noneHint: "A data contract names the checks that its owners guarantee.",
    states: { ACTIVE: "Active", PENDING: "Pending" },
    kept: (total: number) => `Kept: its ${checksOf(total)} passed the last time.`,
    broken: (failing: number, total: number) =>
      `Broken: ${count(failing)} of its ${checksOf(total)} failed the last time.`,
    unknown: (number: number, total: number) =>
      `Unknown: ${count(number)} of its ${checksOf(total)} have not run yet.`,
    empty: "It has no checks.",
    part: "Contract",
    partHint: "Part of the data contract",
  },

  incidents: {
    heading: "Incidents",
    none: "No incidents",
    noneHint: "When the data is wrong or late, raise an incident to warn the people who use it.",
    raise: "Raise incident",
    raiseTitle: "Raise an incident",
    raiseSubmit: "Raise",
    edit: "Edit",
    editLabel: (title: string) => `Edit “${title}”`,
    editTitle: "Edit the incident",
    save: "Save",
    changed: (title: string) => `“${title}” is saved.`,
    stage: "Stage",
    assigneesLabel: "Assignees",
    assign: "Assign user or group",
    people: {
      filter: "Search users and groups",
      list: "Users and groups",
      chosen: "Assigned",
      noMatch: (query: string) => `No users or groups match “${query}”`,
    },
    resolve: "Resolve",
    resolveLabel: (title: string) => `Resolve “${title}”`,
    resolveTitle: "Resolve the incident",
    reopen: "Reopen",
    reopenLabel: (title: string) => `Reopen “${title}”`,
    reopened: (title: string) => `“${title}” is active again.`,
    resolved: (title: string) => `“${title}” is resolved.`,
    title: "Title",
    titleMissing: "Enter a title",
    description: "What is wrong, and who is affected",
    kind: "Kind",
    priority: "Priority",
    message: "What was done",
    noTitle: "Untitled incident",
    showResolved: (number: number) =>
      plural(number, { one: "# resolved incident", other: "# resolved incidents" }),
    raisedBy: "raised {when} by {who}",
    raisedAt: "raised {when}",
    resolvedBy: "resolved {when} by {who}",
    resolvedAt: "resolved {when}",
    updatedBy: "updated {when} by {who}",
    updatedAt: "updated {when}",
    fromCheck: "from a failed check",
    assignees: "Assigned to {people}",
    states: { ACTIVE: "Active", RESOLVED: "Resolved" },
    stages: {
      TRIAGE: "Triage",
      INVESTIGATION: "Investigation",
      WORK_IN_PROGRESS: "Work in progress",
      FIXED: "Fixed",
      NO_ACTION_REQUIRED: "No action required",
    },
    priorities: { CRITICAL: "Critical", HIGH: "High", MEDIUM: "Medium", LOW: "Low" },
    kinds: {
      OPERATIONAL: "Operational",
      FRESHNESS: "Freshness",
      VOLUME: "Volume",
      FIELD: "Column",
      SQL: "SQL",
      DATA_SCHEMA: "Schema",
      CUSTOM: "Custom",
    },
  },

  usage: {
    heading: "Queries",
    hidden: "You may not see the usage of this dataset.",
    none: "No usage yet",
    noneHint: "Usage comes from ingestion, where the source keeps a query log.",
    noneInRange: "No usage in this period",
    period: "Period",
    periods: { MONTH: "30 days", QUARTER: "3 months", YEAR: "12 months" },
    total: (queries: number, users: number) =>
      users === 0 ? queriesOf(queries) : `${queriesOf(queries)} by ${usersOf(users)}`,
    byDay: "Queries by day",
    byMonth: "Queries by month",
    users: "Top users",
    columns: "Top columns",
    noUsers: "The source does not say who.",
    noColumns: "The source does not say which columns.",
    queries: queriesOf,
  },

  profile: {
    heading: "Statistics",
    hidden: "You may not see the statistics of this dataset.",
    none: "No statistics yet",
    noneHint: "Statistics come from ingestion with profiling turned on.",
    rows: "Rows",
    columns: "Columns",
    size: "Size",
    at: "Profiled {when}",
    rowsOverTime: "Rows over time",
    columnsOverTime: "Columns over time",
    byColumn: "By column",
    column: "Column",
    nulls: "Empty",
    distinct: "Distinct",
    distinctCount: (number: number) => plural(number, { one: "# value", other: "# values" }),
    range: "Range",
    mean: "Mean",
    median: "Median",
    values: "Values",
    distribution: (column: string) => `Distribution of ${column}`,
    histogram: "Distribution",
    between: (low: string, high: string) => `${low} to ${high}`,
    frequencies: "Most frequent values",
    quantiles: "Quantiles",
    quantile: (share: string) => `${share} are at most`,
    samples: "Sample values",
    details: (column: string) => `Values of ${column}`,
    bytes: (bytes: number) => {
      const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte", "petabyte"];
      const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
      return new Intl.NumberFormat("en", {
        style: "unit",
        unit: units[step] ?? "byte",
        maximumSignificantDigits: 3,
      }).format(bytes / 1000 ** step);
    },
    nullTitle: (share: string) => `${share} empty`,
    distinctTitle: (share: string) => `${share} distinct`,
  },

  operations: {
    heading: "Data changes",
    hidden: "You may not see the data changes of this dataset.",
    none: "No data changes reported yet",
    kinds: {
      INSERT: "Inserted",
      UPDATE: "Updated",
      DELETE: "Deleted",
      CREATE: "Created",
      ALTER: "Altered",
      DROP: "Dropped",
      UNKNOWN: "Changed",
      CUSTOM: "Changed",
    },
    rows: rowsOf,
    by: "{when} by {who}",
  },

  queries: {
    heading: "Saved queries",
    none: "No saved queries yet",
    noneHint: "Save a query that others should know, such as the one behind a report.",
    add: "Add query",
    addTitle: "Add a query",
    editTitle: "Edit the query",
    edit: "Edit",
    editLabel: (name: string) => `Edit query ${name}`,
    remove: "Delete",
    removeLabel: (name: string) => `Delete query ${name}`,
    removed: (name: string) => `Query “${name}” deleted.`,
    saved: (name: string) => `Query “${name}” saved.`,
    copyLabel: (name: string) => `Copy the SQL of ${name}`,
    untitled: "Untitled query",
    name: "Name",
    description: "What it is for",
    statement: "SQL",
    statementMissing: "Enter a query",
    save: "Save",
    by: "{who}, {when}",
    at: "{when}",
    system: "found by ingestion",
    popular: "Popular queries",
    popularHint: "The most frequent queries of the last 30 days, as the source reports them.",
    popularName: (number: number) => `Popular query ${count(number)}`,
  },

  properties: {
    heading: "Properties",
    custom: "From the source",
    none: "No properties yet",
    noneHint: "Structured properties are defined by administrators, custom ones by the source.",
    filter: "Search properties",
    noMatch: (query: string) => `No properties match “${query}”`,
    property: "Property",
    value: "Value",
    noValue: "No value",
    edit: "Edit",
    set: "Set",
    editLabel: (name: string) => `Edit ${name}`,
    setLabel: (name: string) => `Set ${name}`,
    editTitle: (name: string) => `Edit ${name}`,
    remove: "Remove",
    removeLabel: (name: string) => `Remove the values of ${name}`,
    changed: (name: string) => `${name} changed.`,
    removed: (name: string) => `${name} removed.`,
    save: "Save",
    linesHint: "One value per line",
    numberInvalid: (text: string) => `“${text}” is not a number`,
    dateInvalid: (text: string) => `“${text}” is not a date such as 2026-03-31`,
    urnInvalid: (text: string) => `“${text}” is not a URN`,
    valueMissing: "Enter a value",
    immutable: "Cannot be changed once it is set",
  },

  columns: {
    foreignKey: (column: string) => `→ ${column}`,
    foreignKeyTitle: (column: string, dataset: string) => `Foreign key to ${column} of ${dataset}`,
  },

  view: {
    heading: "View definition",
    materialized: "materialized",
    copy: "Copy the definition of the view",
  },
};
