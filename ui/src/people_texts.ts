// Texts of users and groups: their lists, memberships, and what they own.

import { count, list, plural } from "./text_forms.ts";

const peopleOf = (number: number) => plural(number, { one: "# person", other: "# people" });

export const peopleTexts = {
  tabs: "People",
  users: {
    title: "Users",
    filter: "Search users",
    none: "No users yet",
    noneHint: "Users appear when they sign in, accept an invitation or are imported.",
    noMatch: (query: string) => `No users match “${query}”`,
    columns: { title: "Title", email: "Email", owns: "Owns" },
  },
  groups: {
    title: "Groups",
    filter: "Search groups",
    none: "No groups yet",
    noneHint: "A group owns datasets together, such as a team.",
    noMatch: (query: string) => `No groups match “${query}”`,
    columns: { description: "Description", members: "Members", owns: "Owns" },
    create: "New group",
    createButton: "Create",
    nameMissing: "Enter a name.",
    nameTaken: (name: string) => `There is a group named “${name}” already.`,
    actions: (name: string) => `Actions for ${name}`,
    rename: "Rename…",
    renameTitle: (name: string) => `Rename ${name}`,
    renameButton: "Rename",
    remove: "Delete…",
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
  members: {
    none: "No members yet",
    shown: (shown: number, total: number) => `${count(shown)} of ${peopleOf(total)} are shown.`,
    showMore: "Show more",
    external: "An identity provider decides who is in this group.",
    add: "Add member",
    addTitle: (name: string) => `Add a member to ${name}`,
    join: "Join",
    leave: "Leave",
    filter: "Search users",
    list: "Users",
    chosen: "Member",
    noMatch: (query: string) => `No users match “${query}”`,
    remove: (name: string) => `Remove ${name} from the group`,
    added: (name: string) => `${name} is now a member.`,
    removed: (name: string) => `${name} is no longer a member.`,
  },
  groupsOf: "Groups",
  ownedKinds: "What they own, by kind",
};
