// Texts for users who may only propose changes, and about values with pending proposals.

import { list } from "./text_forms.ts";

const PROPOSE = "Propose";

export const proposingTexts = {
  pending: (proposers: readonly string[]) => `Proposed by ${list(proposers)}, pending`,
  description: {
    edit: PROPOSE,
    editLabel: "Propose a description",
    add: "Propose description",
    save: PROPOSE,
    shortcuts: "Ctrl+Enter to propose, Esc to cancel",
  },
  columns: {
    add: "Propose description",
    edit: PROPOSE,
    addLabel: (path: string) => `Propose description for column ${path}`,
    editLabel: (path: string) => `Propose another description for column ${path}`,
    hint: "Tab to propose and go to the next column, Esc to cancel",
  },
  owners: {
    add: "Propose owner",
    addTitle: "Propose an owner",
    remove: (name: string) => `Propose to remove owner ${name}`,
  },
  tags: {
    add: "Propose tag",
    addTitle: "Propose a tag",
    remove: (name: string) => `Propose to remove tag ${name}`,
  },
  terms: {
    add: "Propose glossary term",
    addTitle: "Propose a glossary term",
    remove: (name: string) => `Propose to remove glossary term ${name}`,
  },
  domainPicker: {
    set: "Propose domain",
    edit: "Propose another domain",
    title: "Propose a domain",
    remove: "Propose to remove from domain",
  },
  links: {
    add: "Propose link",
    save: PROPOSE,
    edit: (label: string) => `Propose to change link ${label}`,
    editShort: "Propose to change",
    remove: (label: string) => `Propose to remove link ${label}`,
    removeShort: "Propose to remove",
  },
  header: {
    rename: "Propose another name…",
    deprecate: "Propose deprecation…",
    editDeprecation: "Propose to change deprecation…",
    undeprecate: "Propose to remove deprecation",
    remove: "Propose to remove from the catalog",
    restore: "Propose to restore",
    save: PROPOSE,
  },
};
