// Texts of data products: their list, and what changes them.

import { assetTexts } from "./asset_texts.ts";
import { plural } from "./text_forms.ts";

const assetsOf = (number: number) => plural(number, { one: "# asset", other: "# assets" });

export const productTexts = {
  title: "Data products",
  filter: "Search data products",
  none: "No data products yet",
  noneHint: "A data product is a set of datasets and others that a domain offers together.",
  noMatch: (query: string) => `No data products match “${query}”`,
  columns: { domain: "Domain", description: "Description", assets: "Assets" },
  create: "New data product",
  createButton: "Create",
  chooseDomain: "Choose a domain…",
  domain: "Domain",
  domainMissing: "Choose a domain.",
  nameMissing: "Enter a name.",
  actions: (name: string) => `Actions for ${name}`,
  rename: "Rename…",
  renameTitle: (name: string) => `Rename ${name}`,
  renameButton: "Rename",
  remove: "Delete…",
  deletePreview: (assets: number) =>
    assets === 0
      ? "It has no assets. Deleting it can't be undone."
      : `${assetsOf(assets)} will no longer be in it. The assets stay. This can't be undone.`,
  assets: {
    heading: "Assets",
    none: "No assets yet",
    add: "Add asset",
    addTitle: (name: string) => `Add an asset to ${name}`,
    ...assetTexts,
    remove: "Remove assets…",
    removeTitle: (name: string) => `Remove an asset from ${name}`,
    removed: (name: string) => `“${name}” removed.`,
  },
};
