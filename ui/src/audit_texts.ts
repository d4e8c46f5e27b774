// Texts of the audit log; see texts.ts.

export const auditTexts = {
  intro: "Every change, denied request and sign-in, newest first.",
  columns: {
    time: "Time",
    user: "User",
    operation: "Operation",
    outcome: "Outcome",
    target: "On",
    origin: "From",
  },
  user: "Username",
  entity: "Entity (URN)",
  operation: "Operation",
  reason: "Reason",
  changes: "Changes",
  download: "Download CSV",
  fileName: "audit-log.csv",
  outcome: "Outcome",
  outcomes: { "": "All outcomes", ALLOWED: "Allowed", DENIED: "Denied" },
  period: "Period",
  periods: { "1": "Last 24 hours", "7": "Last 7 days", "30": "Last 30 days", "": "All time" },
  unknownUser: "Unknown",
  policies: (ids: string) => `by policy ${ids}`,
  change: (aspect: string, before: number | null, after: number | null) => {
    if (before !== null && after !== null) return `${aspect} ${before} → ${after}`;
    if (before !== null) return `${aspect} deleted`;
    return after === null ? aspect : `${aspect} created`;
  },
  more: (count: number) => `and ${count.toLocaleString("en")} more`,
  dropped: (count: number) =>
    count === 1 ? "1 more request" : `${count.toLocaleString("en")} more requests`,
  none: "No events",
  noneHint: "No event matches the filters.",
  showAll: "Show all events",
  examined: "No event in this part of the log matches the filters.",
  newest: "Newest",
  older: "Older",
  pagination: "Pages of the audit log",
};
