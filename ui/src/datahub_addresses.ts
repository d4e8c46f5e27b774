// Addresses of DataHub's page that differ from ours. They are redirected, so that bookmarks and
// links in chats survive a move.

import * as addresses from "./addresses.ts";
import { ENTITY_TYPE, MISSING, PREFIX } from "./search/state.ts";

const PAGES: Readonly<Record<string, string>> = {
  "/login": addresses.home,
  "/analytics": addresses.home,
  "/marketplace": addresses.dataProducts,
  "/ingestion/secrets": addresses.settings("secrets"),
  "/structured-properties": addresses.settings("properties"),
  "/identities": addresses.settings("users"),
  "/permissions": addresses.settings("policies"),
  "/policies": addresses.settings("policies"),
  "/settings/identities": addresses.settings("users"),
  "/settings/identities/users": addresses.settings("users"),
  "/settings/identities/groups": addresses.settings("groups"),
  "/settings/permissions": addresses.settings("policies"),
  "/settings/permissions/policies": addresses.settings("policies"),
  "/settings/permissions/roles": addresses.settings("roles"),
  "/settings/ownership": addresses.settings("ownership-types"),
  "/settings/preferences": addresses.settings("appearance"),
  // Views are saved searches here. They are on the home page, as announcements are.
  "/settings/views": addresses.home,
  "/settings/posts": addresses.home,
};

/** A tab of an entity while its lineage is shown in place of it. */
const LINEAGE_MODE = "is_lineage_mode";

/** Where an address of DataHub leads here, if it is one of another form. */
export function fromDataHub(path: string, search: string): string | null {
  const page = PAGES[path.replace(/\/$/, "")];
  if (page !== undefined) return page;
  const shown = path.startsWith("/embed/") ? path.slice("/embed".length) : path;
  if (new URLSearchParams(search).get(LINEAGE_MODE) === "true") {
    const entity = /^\/[^/]+\/[^/]+/.exec(shown)?.[0];
    if (entity !== undefined) return `${entity}/Lineage`;
  }
  if (isBelow(path, "/browse")) return addresses.platforms;
  if (isBelow(path, "/ingestion")) return addresses.settings("ingestion");
  if (shown !== path) return shown;
  if (isBelow(path, "/search")) return searchFromDataHub(path, search);
  return null;
}

const isBelow = (path: string, root: string) => path === root || path.startsWith(`${root}/`);

/** Between the parts of the name of a filter: `filter_tags___false___EQUAL___0`. */
const SEPARATOR = "___";
/** Between an entity type and its subtype: `DATASET␞Table`. */
const NESTED = "␞";
/** Filters that DataHub names differently. */
const RENAMED: Readonly<Record<string, string>> = {
  entity: ENTITY_TYPE,
  [`${ENTITY_TYPE}${NESTED}typeNames`]: ENTITY_TYPE,
  tags: "anyTag",
  glossaryTerms: "anyGlossaryTerm",
};

/** The search with its filters. Those that this page cannot show, such as negated ones, are left
 *  out. Null if the address has our form already. */
function searchFromDataHub(path: string, search: string): string | null {
  const parameters = new URLSearchParams(search);
  const names = [...parameters.keys()];
  const isOurs = path === "/search" && !names.some((name) => name.includes(SEPARATOR));
  if (isOurs && parameters.get("query") !== "*") return null;
  // No prototype, because the names come from the address.
  const filters: Record<string, string[]> = Object.create(null);
  const add = (field: string, value: string) => {
    const values = (filters[field] ??= []);
    if (value !== "" && !values.includes(value)) values.push(value);
  };
  for (const [name, value] of parameters) {
    if (!name.startsWith(PREFIX)) continue;
    const [field = "", negated = "false", condition = "EQUAL"] = name
      .slice(PREFIX.length)
      .split(SEPARATOR);
    const isNegated = negated === "true";
    if (condition === "EXISTS" && isNegated) add(MISSING, field);
    if (condition !== "EQUAL" || isNegated) continue;
    // The entity type of a nested value is a filter here, its subtype another one.
    const [first = "", subtype = ""] = value.replaceAll("%2C", ",").split(NESTED);
    add(RENAMED[field] ?? field, first);
    if (subtype !== "") add("typeNames", subtype);
  }
  const query = parameters.get("query") ?? "";
  const page = Number(parameters.get("page") ?? "1");
  return addresses.search(query === "*" ? "" : query, filters, page > 1 ? page : 1);
}
