// Texts of the page of the API.

export const apiPageTexts = {
  title: "API",
  intro:
    "Everything on this page comes from the same API that your scripts can call, with the same permissions. It speaks DataHub's GraphQL and REST.",
  token: "Programs sign in with an access token.",
  createToken: "Create a token",
  calls: "Common calls",
  search: "Search the catalog",
  read: "Read a dataset",
  update: "Update a description",
  curl: "From a shell",
  curlHint: "Put your access token into {variable} first.",
  copy: (call: string) => `Copy: ${call}`,
  open: "Open below",
  openLabel: (call: string) => `Open below: ${call}`,
  explorer: "Explorer",
  explorerHint:
    "GraphiQL, the explorer of the GraphQL project, signed in as you. Ctrl+Enter runs a query, Ctrl+Space completes it. What you change here is changed for everybody.",
};
