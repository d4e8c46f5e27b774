// Texts of the settings and of access tokens.

import { shellTexts } from "./shell_texts.ts";

export const settingsTexts = {
  title: "Settings",
  titleOf: (section: string) => `${section} · Settings`,
  sections: {
    ...shellTexts.personal,
    users: "Users",
    invitations: "Invitations",
    groups: "Groups",
    roles: "Roles",
    policies: "Policies",
    "all-tokens": "All tokens",
    "service-accounts": "Service accounts",
    "ownership-types": "Ownership types",
    properties: "Structured properties",
    forms: "Forms",
    ingestion: "Ingestion",
    secrets: "Secrets",
    webhooks: "Webhooks",
    audit: "Audit log",
    server: "Server",
  },
  sectionsLabel: "Settings sections",
};

export const tokenTexts = {
  intro:
    "Scripts and integrations sign in with a token instead of a password. A token has the same access as you.",
  create: "New token",
  name: "Name",
  nameHint: "What the token is for, such as “nightly ingestion”.",
  expiration: "Expiration",
  durations: {
    ONE_HOUR: "1 hour",
    ONE_DAY: "1 day",
    ONE_WEEK: "7 days",
    ONE_MONTH: "30 days",
    THREE_MONTHS: "90 days",
  },
  createButton: "Create",
  cancel: "Cancel",
  shownOnce: "Copy the token now. You won't be able to see it again.",
  secret: "New token",
  copy: "Copy token",
  done: "Done",
  none: "No access tokens yet",
  noneHint: "Create one for each integration, so that you can revoke them separately.",
  columns: { name: "Name", created: "Created", expires: "Expires", lastUsed: "Last used" },
  never: "Never",
  expired: "Expired",
  revoke: "Revoke",
  revokeLabel: (name: string, created: string) => `Revoke token ${name}, created ${created}`,
  revokeTitle: (name: string) => `Revoke ${name}?`,
  revokeBody: "Anything that uses this token loses access immediately. This can't be undone.",
  nameUsed: (name: string) =>
    `You already have a token named “${name}”. Choose another name to tell them apart.`,
  notAllowed: "You don't have permission to create tokens. Ask an administrator.",
  nameMissing: "Enter a name.",
};
