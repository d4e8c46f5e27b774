// Texts of the audit log.

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
  by: "by {policies}",
  change: (aspect: string, before: number | null, after: number | null) => {
    if (before !== null && after !== null) return `${aspect} changed`;
    if (before !== null) return `${aspect} deleted`;
    return after === null ? aspect : `${aspect} created`;
  },
  onlyOperation: (name: string) => `${name}: show only these`,
  /** Operations whose names say too little. Others are split into words. */
  operations: {
    server: "Server",
    "POST /logIn": "Sign in",
    "POST /logOut": "Sign out",
    "GET /logOut": "Sign out",
    "POST /signUp": "Sign up",
    "POST /resetNativeUserCredentials": "Reset password",
    "POST /changePassword": "Change password",
    "POST /aspects?action=ingestProposal": "Ingest",
    "POST /aspects?action=ingestProposalBatch": "Ingest",
    createIngestionExecutionRequest: "Run ingestion source",
    cancelIngestionExecutionRequest: "Cancel ingestion run",
    createNativeUserResetToken: "Create reset link",
    createInviteToken: "Create invite link",
    revokeInviteToken: "Revoke invite link",
    updateCorpUserProperties: "Edit profile",
    updateUserStatus: "Suspend or activate user",
    acceptRole: "Accept invitation",
  } as Record<string, string>,
  /** What entities are called that have no page. */
  types: {
    inviteToken: "Invite link",
    dataHubView: "Saved search",
    dataHubExecutionRequest: "Ingestion run",
    dataHubAccessToken: "Access token",
    corpuser: "User",
    corpGroup: "Group",
    dataset: "Dataset",
  } as Record<string, string>,
  /** Words in names of aspects that say nothing here. */
  emptyWords: /\b(data hub|corp|info|key)\b/g,
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
