// What the pickers of assets say, for tags, terms, domains and data products.

export const assetTexts = {
  filter: "Search datasets, dashboards, charts and others",
  list: "Assets",
  chosen: "Added",
  noMatch: (query: string) => `Nothing matches “${query}”`,
  added: (name: string) => `“${name}” added.`,
};
