// Every address of the page. Addresses match DataHub's where it has one, so that existing links
// keep working. The server lists them too, in crates/http/src/page.rs.

/** Encodes a URN for use in a path, keeping it readable. */
function encodeUrn(urn: string): string {
  return encodeURIComponent(urn).replaceAll("%3A", ":").replaceAll("%2C", ",");
}

/** History state of a navigation that changes the content of a page but keeps the scroll position
 *  and focus. */
export const SAME_PAGE = "same-page";

export const home = "/";
export const domains = "/domains";
export const glossary = "/glossary";
export const tags = "/tags";
export const people = "/people";
export const groups = "/groups";
export const platforms = "/platforms";
export const dataProducts = "/dataProducts";
export const explorer = "/graphiql";
export const settings = (section: string) => `/settings/${section}`;
export const dataset = (urn: string) => `/dataset/${encodeUrn(urn)}`;
/** A tab of a dataset's page, as in DataHub: `/dataset/urn:…/Lineage`. */
export const datasetTab = (urn: string, tab: string) => `${dataset(urn)}/${tab}`;
/** A dataset, with one column in view. DataHub names the column so, too. */
export const column = (urn: string, path: string) =>
  `${dataset(urn)}?${new URLSearchParams({ highlightedPath: path })}`;
/** The columns of one name in all datasets, to describe them together. */
export const columnGrid = (name: string) => `/bulk/columns?${new URLSearchParams({ name })}`;
export const csvImport = "/bulk/csv";
export const domain = (urn: string) => `/domain/${encodeUrn(urn)}`;

/** The history tab of a dataset or domain, or the history of one column. */
export function history(address: string, column?: string): string {
  const query = new URLSearchParams({ show: "history" });
  if (column !== undefined) query.set("column", column);
  return `${address}?${query}`;
}

/** A page of a list of entities, optionally those that match a query. */
export function list(path: string, query: string, page = 1): string {
  const parameters = new URLSearchParams();
  if (query !== "") parameters.set("query", query);
  if (page > 1) parameters.set("page", String(page));
  const text = parameters.toString();
  return text === "" ? path : `${path}?${text}`;
}

/** A page of a domain's datasets, optionally including those of its subdomains. */
export function domainDatasets(urn: string, includeSubdomains: boolean, page = 1): string {
  const parameters = new URLSearchParams();
  if (includeSubdomains) parameters.set("below", "true");
  if (page > 1) parameters.set("page", String(page));
  const text = parameters.toString();
  return text === "" ? domain(urn) : `${domain(urn)}?${text}`;
}

/** A page of the pending or decided proposals, optionally those for one entity. */
export function proposals(
  filter: { readonly isDecided?: boolean; readonly entity?: string | null } = {},
  page = 1,
): string {
  const parameters = new URLSearchParams();
  if (filter.isDecided === true) parameters.set("show", "decided");
  if (filter.entity !== null && filter.entity !== undefined)
    parameters.set("entity", filter.entity);
  if (page > 1) parameters.set("page", String(page));
  const text = parameters.toString();
  return text === "" ? "/proposals" : `/proposals?${text}`;
}

/** The filters of the list of changes. */
export interface ChangeFilters {
  /** `week`, a number of days, or the time at which a week begins; empty for any time. */
  readonly period?: string;
  readonly person?: string;
  readonly kind?: string;
  readonly domain?: string;
  readonly isPeopleOnly?: boolean;
}

export function changes(filters: ChangeFilters = {}): string {
  const parameters = new URLSearchParams();
  for (const name of ["period", "person", "kind", "domain"] as const) {
    const value = filters[name] ?? "";
    if (value !== "") parameters.set(name, value);
  }
  if (filters.isPeopleOnly === true) parameters.set("by", "people");
  const text = parameters.toString();
  return text === "" ? "/changes" : `/changes?${text}`;
}

/** A page of the user's access tokens. */
export const tokens = (page: number) =>
  page > 1 ? `${settings("tokens")}?page=${page}` : settings("tokens");

/** A page of the list of users, optionally filtered by a query. */
export function users(query: string, page = 1): string {
  const parameters = new URLSearchParams();
  if (query !== "") parameters.set("query", query);
  if (page > 1) parameters.set("page", String(page));
  const text = parameters.toString();
  return text === "" ? settings("users") : `${settings("users")}?${text}`;
}

/** A section of the settings with parameters. Empty ones are left out. */
export function settingsWith(
  section: string,
  values: Readonly<Record<string, string>>,
  page = 1,
): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== "") parameters.set(name, value);
  }
  if (page > 1) parameters.set("page", String(page));
  const text = parameters.toString();
  return text === "" ? settings(section) : `${settings(section)}?${text}`;
}

/** The filters of the audit log. */
export interface AuditFilters {
  readonly user: string;
  readonly entity: string;
  readonly operation: string;
  readonly outcome: string;
  readonly period: string;
}

/** A page of the audit log, starting after an event. */
export function audit(filters: AuditFilters, scroll = ""): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...filters, scroll })) {
    if (value !== "") parameters.set(name, value);
  }
  const text = parameters.toString();
  return text === "" ? settings("audit") : `${settings("audit")}?${text}`;
}

/** A search with its filters. */
export function search(
  query: string,
  filters: Readonly<Record<string, readonly string[]>> = {},
  page = 1,
): string {
  const parameters = new URLSearchParams();
  if (query !== "") parameters.set("query", query);
  for (const [field, values] of Object.entries(filters)) {
    for (const value of values) parameters.append(`filter_${field}`, value);
  }
  if (page > 1) parameters.set("page", String(page));
  const text = parameters.toString();
  return text === "" ? "/search" : `/search?${text}`;
}

/** The first segment of the addresses of each entity type, as in DataHub. */
const SEGMENTS: Readonly<Record<string, string>> = {
  dataset: "dataset",
  domain: "domain",
  tag: "tag",
  glossaryTerm: "glossaryTerm",
  glossaryNode: "glossaryNode",
  corpuser: "user",
  corpGroup: "group",
  container: "container",
  dashboard: "dashboard",
  chart: "chart",
  dataFlow: "pipelines",
  dataJob: "tasks",
  dataProduct: "dataProduct",
  dataPlatform: "platform",
};

/** The first segments of the types that have the common page. */
export const COMMON_SEGMENTS = Object.values(SEGMENTS).filter(
  (segment) => segment !== "dataset" && segment !== "domain",
);

const segmentOf = (urn: string) => SEGMENTS[urn.split(":")[2] ?? ""];

/** Whether entities of this type have a page. */
export const hasPage = (urn: string) => segmentOf(urn) !== undefined;

/** The page of an entity, or a search for it where it has none. */
export function entity(urn: string): string {
  const segment = segmentOf(urn);
  return segment === undefined ? search(urn) : `/${segment}/${encodeUrn(urn)}`;
}

/** The lineage of an entity, as in DataHub. */
export const lineage = (urn: string) => `${entity(urn)}/Lineage`;
