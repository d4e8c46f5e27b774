// The parts of texts.ts about the user's own part of the home page.

import { plural } from "./text_forms.ts";

export const mineTexts = {
  heading: "Yours to document",
  none: "Everything that you own has a description.",
  nothing: "What you or your groups own appears here if it lacks a description.",
  toUndocumented: "View undocumented datasets",
  all: (number: number) => plural(number, { one: "View it in search", other: "View all #" }),
  describe: "Describe",
  describeLabel: (name: string) => `Describe ${name}`,
  dialogTitle: (name: string) => `Describe ${name}`,
  text: "Description (Markdown)",
  save: "Save",
  described: (name: string) => `${name} has a description.`,
};

export const savedTexts = {
  heading: "Saved searches",
  one: "Saved search",
  none: "Filter a search and save it to find it here.",
  save: "Save search",
  saveTitle: "Save this search",
  name: "Name",
  filtersOnly: (query: string) =>
    `The filters are saved. The text “${query}” is not part of a saved search.`,
  noFilters: (query: string) =>
    `Only filters can be saved, not the text “${query}”. Choose a filter first.`,
  labelFilter:
    "A filter by tags or glossary terms including those of columns can't be saved. Remove it first.",
  ofSaved: "A saved search can't be part of another one. Choose its filters again to save them.",
  confirm: "Save",
  saved: (name: string) => `Search “${name}” saved.`,
  actions: (name: string) => `Actions for saved search ${name}`,
  rename: "Rename…",
  renameTitle: "Rename saved search",
  delete: "Delete",
  deleted: (name: string) => `Search “${name}” deleted.`,
};

export const viewedTexts = {
  heading: "Recently viewed",
  clear: "Clear",
  clearLabel: "Clear recently viewed",
  hint: "Stored in this browser only.",
};

export const announcementTexts = {
  heading: "Announcements",
  add: "Add announcement",
  addTitle: "Add an announcement",
  title: "Title",
  text: "Text (Markdown)",
  link: "Link (optional)",
  linkHint: "Must begin with https:// or http://",
  publish: "Publish",
  delete: (title: string) => `Delete announcement ${title}`,
  deleted: (title: string) => `Announcement “${title}” deleted.`,
};
