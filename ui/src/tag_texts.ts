// Texts of tags: their list, and what changes them.

import { plural } from "./text_forms.ts";

export const tagTexts = {
  title: "Tags",
  filter: "Search tags",
  none: "No tags yet",
  noneHint: "A tag marks datasets, columns and others, such as “PII” or “Certified”.",
  noMatch: (query: string) => `No tags match “${query}”`,
  columns: {
    description: "Description",
    assets: "Tables and others",
    columns: "Through columns",
    actions: "Actions",
  },
  create: "New tag",
  createButton: "Create",
  color: "Color",
  noColor: "No color",
  actions: (name: string) => `Actions for ${name}`,
  edit: "Edit name and color…",
  editTitle: (name: string) => `Edit ${name}`,
  save: "Save",
  remove: "Delete…",
  nameMissing: "Enter a name.",
  nameTaken: (name: string) => `There is a tag named “${name}” already.`,
  changed: "Name and color saved.",
  deletePreview: (carriers: number) =>
    carriers === 0
      ? "Nothing has this tag. Deleting it can't be undone."
      : plural(carriers, {
          one: "It will be removed from # entity. This can't be undone.",
          other: "It will be removed from # entities. This can't be undone.",
        }),
};
