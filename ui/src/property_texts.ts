// The part of texts.ts about the definitions of structured properties.

import { count, plural } from "./text_forms.ts";

export const propertyTexts = {
  intro:
    "Structured properties are typed fields that you add to assets, such as a retention period. Their values are edited on the tab “Properties” of an asset.",
  create: "New property",
  find: "Find properties",
  none: "No structured properties yet",
  noneHint:
    "Create one to ask the same question about many assets, with answers that can be compared and searched.",
  noneForReaders: "An administrator can create one.",
  noMatch: (query: string) => `No properties match “${query}”`,
  columns: { name: "Name", type: "Type", allowed: "Allowed values", entityTypes: "For" },
  anyValue: "Any",
  several: (type: string) => `${type}, several`,
  hidden: "Hidden",
  moreValues: (number: number) => `and ${count(number)} more`,
  edit: "Edit",
  editLabel: (name: string) => `Edit ${name}`,
  remove: "Delete…",
  removeLabel: (name: string) => `Delete ${name}`,
  created: (name: string) => `${name} is created.`,
  saved: (name: string) => `${name} is saved.`,
  removed: (name: string) => `${name} is deleted.`,
  types: {
    STRING: "Text",
    NUMBER: "Number",
    DATE: "Date",
    URN: "Entity",
    RICH_TEXT: "Markdown",
    OTHER: "Other",
  },

  form: {
    createTitle: "New structured property",
    editTitle: (name: string) => `Edit ${name}`,
    createButton: "Create",
    save: "Save",
    name: "Name",
    nameMissing: "Enter a name.",
    id: "Qualified name",
    idHint: "Letters, digits, dots, hyphens and underscores. It cannot be changed later.",
    idInvalid: "Use letters, digits, dots, hyphens and underscores only.",
    description: "Description",
    type: "Type of the values",
    fixedType: (type: string) => `Type of the values: ${type}`,
    allowedTypes: "The values may be",
    allowedTypesHint: "Without a choice, entities of any type.",
    multiple: "Allow several values",
    multipleFixed: "Several values are allowed. This cannot be limited again.",
    immutable: "Values cannot be changed once they are set",
    hidden: "Hide it on the pages of assets",
    entityTypes: "Kinds of assets",
    entityTypesMissing: "Choose at least one kind of assets.",
    onlyMore: "What is allowed now stays allowed, so that values remain valid.",
    allowed: "Allowed values",
    allowedHint: "Without any, every value of the type is allowed.",
    value: "Value",
    valueOf: (position: number) => `Allowed value ${count(position)}`,
    meaning: "Meaning",
    meaningOf: (position: number) => `Meaning of allowed value ${count(position)}`,
    addValue: "Add value",
    removeValue: (position: number) => `Remove allowed value ${count(position)}`,
    numberInvalid: (text: string) => `“${text}” is not a number.`,
  },

  deletion: {
    counting: "Counting the assets with values…",
    none: "No asset that you can see has a value.",
    total: (number: number) =>
      plural(number, {
        one: "# asset has values, and loses them:",
        other: "# assets have values, and lose them:",
      }),
    ofType: (number: number, type: string) => `${type}: ${count(number)}`,
    final: "Prompts of forms that ask for it cannot be answered any more. This can't be undone.",
  },

  picker: {
    filter: "Search assets",
    list: "Assets",
    chosen: "Chosen",
    noMatch: (query: string) => `No assets match “${query}”`,
    remove: (name: string) => `Remove ${name}`,
    replace: "Choosing another one replaces it.",
  },
};
