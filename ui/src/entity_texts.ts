// The part of texts.ts about the pages of tags, terms, people, containers and other entities.

import { assetTexts } from "./asset_texts.ts";
import { plural } from "./text_forms.ts";

export const entityTexts = {
  missing: "Page not found",
  about: (type: string) => `About this ${type.toLocaleLowerCase()}`,
  external: "View at the source",
  contents: "Contents",
  tabsLabel: "Sections",
  members: {
    TAG: "What has this tag",
    GLOSSARY_TERM: "What has this term",
    GLOSSARY_NODE: "Terms in this group",
    CORP_USER: "What they own",
    CORP_GROUP: "What the group owns",
    CONTAINER: "Contents",
    DATA_PLATFORM: "On this platform",
    DATA_PRODUCT: "Assets",
  } as Record<string, string>,
  noMembers: "Nothing yet",
  searchWithin: "Search within",
  allMembers: (number: number) =>
    plural(number, { one: "View the # result", other: "View all # results" }),
  moreMembers: "Show more",
  groupMembers: (number: number) => plural(number, { one: "# member", other: "# members" }),
  /** Gives assets a tag, a term or a domain. */
  assets: {
    add: "Add assets",
    addTitle: (name: string) => `Add assets to ${name}`,
    hint: "To add many at once, select them in search results.",
    ...assetTexts,
    move: (name: string, from: string, to: string) =>
      `“${name}” is in the domain ${from}. Move it to ${to}?`,
    moveButton: "Move",
    keep: "Keep it there",
    proposed: (name: string) => `Proposed for “${name}”.`,
  },
  person: {
    email: "Email",
    title: "Title",
    department: "Department",
    slack: "Slack",
    phone: "Phone",
    about: "About",
    emailInvalid: "Write the address like ada@example.com.",
    name: "Display name",
    picture: "Picture",
    pictureHint: "An image as a data: URL, or a file of this server under /assets/.",
    edit: "Edit profile",
    editTitle: (name: string) => `Edit the profile of ${name}`,
    save: "Save",
  },
};
