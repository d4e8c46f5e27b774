// The addresses of the page, in one place. They are DataHub's where it has one, so that old links lead somewhere. The
// server knows them too: ADDRESSES in crates/http/src/page.rs.

/** A URN in a path: readable, with nothing in it that a path could mistake for its own. */
function inPath(urn: string): string {
  return encodeURIComponent(urn).replaceAll("%3A", ":").replaceAll("%2C", ",");
}

/** The state of a navigation that changes what is shown of a page, and not where one is on it. */
export const STAYS = "stays";

export const home = "/";
export const domains = "/domains";
export const explorer = "/graphiql";
export const settings = (section: string) => `/settings/${section}`;
export const dataset = (urn: string) => `/dataset/${inPath(urn)}`;
export const domain = (urn: string) => `/domain/${inPath(urn)}`;

/** The history of a dataset or domain, or of one column. */
export function history(address: string, column?: string): string {
  const query = new URLSearchParams({ show: "history" });
  if (column !== undefined) query.set("column", column);
  return `${address}?${query}`;
}

/** A page of a domain's datasets, with those of the domains below it or without. */
export function domainDatasets(urn: string, isDeep: boolean, page = 1): string {
  const parameters = new URLSearchParams();
  if (isDeep) parameters.set("below", "true");
  if (page > 1) parameters.set("page", String(page));
  const text = parameters.toString();
  return text === "" ? domain(urn) : `${domain(urn)}?${text}`;
}

/** A page of the list of one's tokens. */
export const tokens = (page: number) => (page > 1 ? `${settings("tokens")}?page=${page}` : settings("tokens"));

/** A page of the list of people, of those whom a text finds. */
export function people(query: string, page = 1): string {
  const parameters = new URLSearchParams();
  if (query !== "") parameters.set("query", query);
  if (page > 1) parameters.set("page", String(page));
  const text = parameters.toString();
  return text === "" ? settings("users") : `${settings("users")}?${text}`;
}

/** A search with its filters. */
export function search(query: string, filters: Readonly<Record<string, readonly string[]>> = {}, page = 1): string {
  const parameters = new URLSearchParams();
  if (query !== "") parameters.set("query", query);
  for (const [field, values] of Object.entries(filters)) {
    for (const value of values) parameters.append(`filter_${field}`, value);
  }
  if (page > 1) parameters.set("page", String(page));
  const text = parameters.toString();
  return text === "" ? "/search" : `/search?${text}`;
}

/** Where an entity can be looked at: its page, or a search for everything that has to do with it. */
export function entity(urn: string): string {
  switch (urn.split(":")[2]) {
    case "dataset":
      return dataset(urn);
    case "domain":
      return domain(urn);
    case "tag":
      return search("", { tags: [urn] });
    case "glossaryTerm":
      return search("", { glossaryTerms: [urn] });
    case "container":
      return search("", { container: [urn] });
    case "dataPlatform":
      return search("", { platform: [urn] });
    case "corpuser":
    case "corpGroup":
      return search("", { owners: [urn] });
    default:
      return search(urn);
  }
}
