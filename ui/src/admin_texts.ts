// The part of texts.ts about administration: sections, people, groups, roles, tokens, the server.

import { count, list, plural } from "./text_forms.ts";

const membersOf = (number: number) => plural(number, { one: "# member", other: "# members" });

export const adminTexts = {
  /** The headings above the sections. */
  sections: {
    personal: "You",
    access: "People and access",
    catalog: "Vocabulary",
    system: "Operation",
  },
  cancel: "Cancel",
  notAllowed: "You don't have the privilege for this page. Ask an administrator.",
  impact: "What this affects",

  /** What has a name and a description. */
  names: {
    name: "Name",
    nameMissing: "Enter a name.",
    description: "Description",
  },

  people: {
    role: "Role",
    roleOf: (name: string) => `Role of ${name}`,
    defaultRole: "Default role",
    more: (name: string) => `More actions for ${name}`,
    suspend: "Suspend…",
    resume: "Activate",
    remove: "Delete…",
    signOut: "Sign out everywhere…",
    suspendTitle: (name: string) => `Suspend ${name}?`,
    suspendBody:
      "The sessions end and the access tokens stop working, until the account is activated again. What the account owns stays.",
    suspendButton: "Suspend",
    suspendSelf: "This is your own account. You would be signed out, and could not sign in again.",
    suspended: (name: string) => `${name} is suspended.`,
    resumed: (name: string) => `${name} is active.`,
    removeTitle: (name: string) => `Delete ${name}?`,
    removeBody:
      "The account, its sessions and its access tokens are deleted. This can't be undone.",
    removeSelf: "This is your own account.",
    removeButton: "Delete",
    removed: (name: string) => `${name} is deleted.`,
    owned: (number: number) =>
      plural(number, {
        one: "# asset is owned by it, and loses this owner.",
        other: "# assets are owned by it, and lose this owner.",
      }),
    ownsNothing: "It owns nothing.",
    signOutTitle: (name: string) => `Sign ${name} out everywhere?`,
    signOutBody: "All sessions end.",
    signOutTokens: "Also revoke the access tokens",
    signOutButton: "Sign out",
    signedOut: (name: string) => `${name} is signed out everywhere.`,
    roleSet: (name: string, role: string) => `${name}: ${role}`,
    ownRoleTitle: "Change your own role?",
    ownRoleBody: (before: string, after: string) =>
      `Your role changes from ${before} to ${after}. You may lose the right to change it back.`,
    ownRoleButton: "Change my role",
  },

  invitations: {
    intro:
      "An invite link lets everybody who has it create an account, with the role of the link. It works for 7 days.",
    none: "No open invite links",
    noneHint: "Links that expired, were replaced or revoked are not listed.",
    columns: { role: "Role", created: "Created", by: "By", expires: "Expires" },
    noRole: "Default role",
    revoke: "Revoke",
    revokeLabel: (role: string) => `Revoke the invite link for ${role}`,
    revokeTitle: (role: string) => `Revoke the invite link for ${role}?`,
    revokeBody: "The link stops working. Accounts that were created with it stay.",
    revoked: "The link is revoked.",
  },

  roles: {
    intro: "What a role may do is written in policies. A user has one role.",
    defaultHint:
      "Users without a role have the default role, which the server is started with (--default-role).",
    members: membersOf,
    noMembers: "Nobody has this role.",
    may: "What it allows",
    noPolicies: "No active policy is for this role.",
    all: (number: number) => plural(number, { one: "Show # user or group", other: "Show all #" }),
    assign: "Assign",
    assignLabel: (role: string) => `Assign the role ${role}`,
    assignTitle: (role: string) => `Assign the role ${role}`,
    filter: "Search users and groups",
    list: "Users and groups",
    chosen: "Has it",
    group: "Group",
    noMatch: (query: string) => `No users or groups match “${query}”`,
    remove: "Remove",
    removeLabel: (name: string, role: string) => `Remove the role ${role} from ${name}`,
    removed: (name: string, role: string) => `${name} no longer has the role ${role}.`,
    assigned: (name: string, role: string) => `${name} has the role ${role}.`,
    removeOwnTitle: (role: string) => `Give up the role ${role}?`,
    removeOwnBody: "You would have the default role, and may lose the right to change this back.",
    removeOwnButton: "Give up the role",
    moreMembers: (number: number) => `and ${count(number)} more`,
  },

  groups: {
    intro: "Groups own assets, and get rights from roles and policies.",
    create: "New group",
    createButton: "Create",
    save: "Save",
    find: "Find groups",
    none: (query: string) => (query === "" ? "No groups yet" : `No groups match “${query}”`),
    noneHint: "Create one, or sign in with an identity provider that sends groups.",
    showAll: "Show all groups",
    columns: { name: "Name", description: "Description", members: "Members" },
    back: "All groups",
    missing: "This group does not exist.",
    edit: "Edit",
    editLabel: (name: string) => `Edit the group ${name}`,
    editTitle: (name: string) => `Edit ${name}`,
    page: "View its page",
    external: "Comes from an identity provider",
    saved: "The group is saved.",
    noDescription: "No description yet",
    members: "Members",
    owners: "Owners",
    ownersHint: "Owners of a group may add and remove its members.",
    noMembers: "No members yet",
    noOwners: "No owners yet",
    externalMember: "Imported",
    addMember: "Add member",
    addMemberTitle: (group: string) => `Add a member to ${group}`,
    addOwner: "Add owner",
    addOwnerTitle: (group: string) => `Add an owner of ${group}`,
    filter: "Search users",
    list: "Users",
    chosen: "Added",
    noMatch: (query: string) => `No users match “${query}”`,
    removeMember: (name: string) => `Remove member ${name}`,
    removeOwner: (name: string) => `Remove owner ${name}`,
    remove: "Remove",
    added: (name: string) => `${name} is added.`,
    removed: (name: string) => `${name} is removed.`,
    delete: "Delete group…",
    deleteBody: "This can't be undone.",
    deleteMembers: (number: number) =>
      plural(number, {
        one: "# member leaves it, with the rights that it gives.",
        other: "# members leave it, with the rights that it gives.",
      }),
    deleteOwned: (number: number) =>
      plural(number, {
        one: "# asset loses it as an owner.",
        other: "# assets lose it as an owner.",
      }),
    deleteRoles: (roles: readonly string[]) => `It has the role ${list(roles)}.`,
    deletePolicies: (names: readonly string[]) => `It is removed from the policies ${list(names)}.`,
    deleteNothing: "It has no members, owns nothing and has no role.",
  },

  tokens: {
    intro: "The access tokens of everyone. A token has the rights of its user.",
    user: "Username",
    columns: {
      name: "Name",
      user: "User",
      created: "Created",
      expires: "Expires",
      lastUsed: "Last used",
      scope: "Limited to",
    },
    byUser: (user: string) => `by ${user}`,
    none: "No access tokens",
    noneHint: "No token matches the filter.",
    showAll: "Show all tokens",
    noScope: "Not limited",
    readOnly: "Reading",
    privileges: (number: number) => plural(number, { one: "# privilege", other: "# privileges" }),
    domain: (id: string) => `domain ${id}`,
    scope: list,
  },

  serviceAccounts: {
    intro: "A service account is a user that is a program. It signs in with access tokens alone.",
    create: "New service account",
    createButton: "Create",
    none: "No service accounts yet",
    noneHint: "Create one for each program, so that you can revoke them separately.",
    columns: { name: "Name", id: "Username", role: "Role", created: "Created" },
    newToken: "New token",
    newTokenLabel: (name: string) => `New token for ${name}`,
    tokens: "Tokens",
    tokensLabel: (name: string) => `Tokens of ${name}`,
    remove: "Delete…",
    removeLabel: (name: string) => `Delete ${name}`,
    removeTitle: (name: string) => `Delete ${name}?`,
    removeBody: "Its access tokens stop working at once. This can't be undone.",
    removeButton: "Delete",
    removed: (name: string) => `${name} is deleted.`,
  },

  server: {
    intro: "The server that answered. Several servers may use the same database.",
    state: "State",
    version: "Version",
    uptime: "Running since",
    engine: "Storage engine",
    databaseSize: "Database",
    writable: "Accepts writes",
    yes: "Yes",
    no: "No: the database is read-only",
    index: "Search index",
    indexSize: "Size of the search index",
    inMemory: "In memory",
    noIndex: "This server has no search index",
    current: "Up to date",
    pending: (number: number) =>
      plural(number, {
        one: "# change not indexed yet; the next search indexes it",
        other: "# changes not indexed yet; the next search indexes them",
      }),
    building: (number: number) =>
      plural(number, {
        one: "Being built: # entity so far",
        other: "Being built: # entities so far",
      }),
    refresh: "Refresh",
    notSet: "not set",
    contents: "Contents",
    total: "All entities",
    settings: "Settings",
    settingsHint: "What the server was started with. Secrets are not shown.",
    settingsNotAllowed: "The settings need the privilege to manage the server.",
  },

  ownershipTypes: {
    intro: "The kinds of owners that assets can have.",
    create: "New ownership type",
    columns: { name: "Name", description: "Description" },
    none: "No ownership types yet",
    builtIn: "Built in",
    edit: "Edit",
    editLabel: (name: string) => `Edit ${name}`,
    editTitle: (name: string) => `Edit ${name}`,
    createButton: "Create",
    save: "Save",
    saved: (name: string) => `${name} is saved.`,
    remove: "Delete…",
    removeLabel: (name: string) => `Delete ${name}`,
    removeTitle: (name: string) => `Delete ${name}?`,
    removeBody:
      "Owners of this type lose the type, and it is removed from policies. This can't be undone.",
    removeButton: "Delete",
    removed: (name: string) => `${name} is deleted.`,
  },

  bytes: (number: number) => {
    const units = ["B", "kB", "MB", "GB", "TB"];
    const power = Math.min(units.length - 1, number < 1 ? 0 : Math.floor(Math.log10(number) / 3));
    const value = number / 1000 ** power;
    return `${count(Number(value.toPrecision(3)))} ${units[power] ?? ""}`;
  },
};
