// The part of texts.ts about users and groups: their lists, memberships, and what they own.

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
    columns: { title: "Title", email: "E-mail", owns: "Owns" },
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
    actions: (name: string) => `Actions for ${name}`,
    rename: "Rename…",
    renameTitle: (name: string) => `Rename ${name}`,
    renameButton: "Rename",
    remove: "Delete…",
    deletePreview: (members: number, owned: number) => {
      const parts = [
        ...(members > 0 ? [`${peopleOf(members)} will no longer be in it`] : []),
        ...(owned > 0
          ? [
              plural(owned, {
                one: "# entity will lose it as an owner",
                other: "# entities will lose it as an owner",
              }),
            ]
          : []),
      ];
      return `${parts.length === 0 ? "It has no members and owns nothing" : list(parts)}. This can't be undone.`;
    },
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
