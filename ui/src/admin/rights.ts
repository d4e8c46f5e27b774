// What lets users see each section of the administration: one of the privileges is enough.

import { GROUP_CREATORS, GROUP_MANAGERS } from "../people/group_privileges.ts";

/** The privileges of which one is enough for each section of the administration. */
export const SECTION_PRIVILEGES = {
  users: ["MANAGE_USERS_AND_GROUPS"],
  invitations: [
    "MANAGE_POLICIES",
    "MANAGE_USERS_AND_GROUPS",
    "CREATE_USERS_AND_GROUPS",
    "CREATE_USERS",
  ],
  groups: [...GROUP_CREATORS, ...GROUP_MANAGERS],
  roles: ["MANAGE_POLICIES"],
  policies: ["MANAGE_POLICIES"],
  "all-tokens": ["MANAGE_ACCESS_TOKENS"],
  "service-accounts": ["MANAGE_SERVICE_ACCOUNTS"],
  "ownership-types": ["MANAGE_GLOBAL_OWNERSHIP_TYPES"],
  properties: ["MANAGE_STRUCTURED_PROPERTIES", "VIEW_STRUCTURED_PROPERTIES_PAGE"],
  forms: ["MANAGE_DOCUMENTATION_FORMS"],
  ingestion: ["MANAGE_INGESTION"],
  secrets: ["MANAGE_SECRETS"],
  webhooks: ["MANAGE_WEBHOOKS"],
  audit: ["MANAGE_SYSTEM_OPERATIONS", "GET_ANALYTICS_PRIVILEGE"],
  server: ["MANAGE_SYSTEM_OPERATIONS", "VIEW_SYSTEM_STATUS"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type AdminSection = keyof typeof SECTION_PRIVILEGES;
