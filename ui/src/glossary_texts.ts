// Texts of the glossary: its tree, its dialogs, and how terms are related.

import { count, list, plural } from "./text_forms.ts";

const termsOf = (number: number) => plural(number, { one: "# term", other: "# terms" });
const groupsOf = (number: number) =>
  plural(number, { one: "# term group", other: "# term groups" });

const contentsOf = (groups: number, terms: number) =>
  list([...(groups > 0 ? [groupsOf(groups)] : []), ...(terms > 0 ? [termsOf(terms)] : [])]);

export const glossaryTexts = {
  title: "Glossary",
  tree: "Glossary tree",
  counts: (terms: number, groups: number) =>
    groups === 0 ? termsOf(terms) : `${termsOf(terms)} in ${groupsOf(groups)}`,
  filter: "Filter the glossary",
  none: "No glossary terms yet",
  noneHint:
    "A term gives a word of your business one meaning, such as “Net Revenue”. Terms can be in groups, and are added to datasets and columns.",
  noneAskHint: "Ask an administrator to create the first one.",
  noMatch: (query: string) => `No terms or groups match “${query}”`,
  cut: (shown: number) => `Only the first ${count(shown)} entries are shown.`,
  clearFilter: "Clear filter",
  columns: {
    name: "Term",
    definition: "Definition",
    assets: "Tables and others",
    columns: "Through columns",
  },
  expand: (name: string) => `Expand ${name}`,
  collapse: (name: string) => `Collapse ${name}`,
  dropHere: "Drop here to move to the top level",
  actions: (name: string) => `Actions for ${name}`,
  createTerm: "New term",
  createGroup: "New term group",
  rename: "Rename…",
  move: "Move…",
  remove: "Delete…",
  createTitle: (kind: "term" | "group", parent: string | null) => {
    const what = kind === "term" ? "New term" : "New term group";
    return parent === null ? what : `${what} in ${parent}`;
  },
  create: "Create",
  nameMissing: "Enter a name.",
  nameTaken: (name: string) => `“${name}” already exists here.`,
  renameTitle: (name: string) => `Rename ${name}`,
  renameButton: "Rename",
  renamePreview: (carriers: number) =>
    carriers === 0
      ? "Existing links keep working."
      : `The new name also appears on ${plural(carriers, { one: "# entity", other: "# entities" })}. Existing links keep working.`,
  moveTitle: (name: string) => `Move ${name}`,
  moveTo: "Move to: {destination}",
  moveButton: "Move",
  moveSame: "It is already there.",
  movePreview: (groups: number, terms: number) =>
    groups + terms === 0
      ? "Nothing else moves. What carries the term keeps it."
      : `Also moves ${contentsOf(groups, terms)}.`,
  topLevel: "Top level",
  deleteTerm: (carriers: number) =>
    carriers === 0
      ? "Nothing carries this term. Deleting it can't be undone."
      : plural(carriers, {
          one: "It will be removed from # entity. This can't be undone.",
          other: "It will be removed from # entities. This can't be undone.",
        }),
  deleteGroup: (groups: number, terms: number) =>
    groups + terms === 0
      ? "This group is empty. Deleting it can't be undone."
      : `${contentsOf(groups, terms)} directly in this group will move to the top level. This can't be undone.`,
  deleteExamples: "Including:",
  picker: {
    title: "Select a term group",
    filter: "Filter term groups",
    current: "Current",
    empty: "No term groups yet",
    none: (query: string) => `No term groups match “${query}”`,
    insideItself: (name: string) => `${name} can't be moved into itself or a group in it.`,
  },
  related: {
    heading: "Related terms",
    none: "No related terms yet",
    add: "Add related term",
    addTitle: (name: string) => `Relate ${name} to another term`,
    kind: "Kind of relation",
    kinds: {
      isA: "Inherits from (is a)",
      hasA: "Contains (has a)",
    },
    headings: {
      IsA: "Inherits from",
      HasA: "Contains",
      HasValue: "Has the value",
      IsRelatedTo: "Related to",
    } as Record<string, string>,
    incoming: {
      IsA: "Inherited by",
      HasA: "Part of",
      HasValue: "Value of",
      IsRelatedTo: "Related to",
    } as Record<string, string>,
    filter: "Search glossary terms",
    list: "Glossary terms",
    chosen: "Added",
    itself: "This term",
    noMatch: (query: string) => `No glossary terms match “${query}”`,
    remove: (name: string) => `Remove related term ${name}`,
    added: (name: string) => `“${name}” added.`,
    removed: (name: string) => `“${name}” removed.`,
    more: (number: number) => `${count(number)} more are not shown.`,
  },
};
