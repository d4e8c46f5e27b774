// The part of texts.ts about the pages of tags, terms, people, containers and other entities.

import { plural } from "./text_forms.ts";

export const entityTexts = {
  missing: "Page not found",
  about: (type: string) => `About this ${type.toLocaleLowerCase()}`,
  external: "View at the source",
  contents: "Contents",
  members: {
    TAG: "Tagged with it",
    GLOSSARY_TERM: "Described by it",
    GLOSSARY_NODE: "Terms and groups in it",
    CORP_USER: "Owned",
    CORP_GROUP: "Owned",
    CONTAINER: "Contents",
    DATA_PLATFORM: "On this platform",
    DATA_PRODUCT: "Assets",
  } as Record<string, string>,
  noMembers: "Nothing yet",
  searchWithin: "Search within",
  allMembers: (number: number) =>
    plural(number, { one: "View the # result", other: "View all # results" }),
  groupMembers: (number: number) => plural(number, { one: "# member", other: "# members" }),
  person: {
    email: "E-mail",
    title: "Title",
    department: "Department",
    slack: "Slack",
    phone: "Phone",
    about: "About",
  },
};
