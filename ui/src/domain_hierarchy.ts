// All domains as a hierarchy, with dataset counts. Catalogs have about a thousand domains, not
// millions, so the page loads them all at once and filters trees and pickers without a request.

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { useApiQuery } from "./api/cache.ts";
import { run } from "./api/client.ts";
import { combineReads } from "./components/states.tsx";
import { DomainCountsDocument, AllDomainsDocument } from "./generated/operations.ts";
import { nameOf } from "./names.ts";
import { texts } from "./texts.ts";

export interface DomainNode {
  readonly urn: string;
  readonly name: string;
  readonly parent: DomainNode | null;
  readonly children: readonly DomainNode[];
  /** Datasets directly in the domain. */
  readonly directDatasets: number;
  /** Datasets in the domain and all its descendants. */
  readonly totalDatasets: number;
  /** Number of descendants at any depth. */
  readonly descendants: number;
  readonly depth: number;
  /** Whether the current user may rename, move and delete it. */
  readonly canManage: boolean;
  /** Whether the current user may add subdomains. */
  readonly canManageChildren: boolean;
}

export interface DomainHierarchy {
  readonly roots: readonly DomainNode[];
  readonly byUrn: ReadonlyMap<string, DomainNode>;
}

interface DomainRecord {
  readonly urn: string;
  readonly name: string;
  readonly parent: string | null;
  readonly canManage: boolean;
  readonly canManageChildren: boolean;
}

/** Sorts numbers in names numerically: 2 before 10. */
const collator = new Intl.Collator(texts.locale, { numeric: true });

const PAGE_SIZE = 1000;
/** The search API's limit. */
const MAX_DOMAINS = 10_000;

async function readDomains(signal: AbortSignal): Promise<DomainRecord[]> {
  const records: DomainRecord[] = [];
  for (let start = 0; start < MAX_DOMAINS; start += PAGE_SIZE) {
    const page = await run(AllDomainsDocument, { start, count: PAGE_SIZE }, signal);
    const found = page.searchAcrossEntities;
    for (const { entity } of found?.searchResults ?? []) {
      if (!("parentDomains" in entity)) continue;
      records.push({
        urn: entity.urn,
        name: nameOf(entity),
        parent: entity.parentDomains?.domains[0]?.urn ?? null,
        canManage: entity.privileges?.canManageEntity === true,
        canManageChildren: entity.privileges?.canManageChildren === true,
      });
    }
    if (start + PAGE_SIZE >= (found?.total ?? 0)) break;
  }
  return records;
}

/** Returns the hierarchy once loaded, with the state of the request. */
export function useDomainHierarchy() {
  const domains = useQuery({
    queryKey: [AllDomainsDocument.text],
    queryFn: ({ signal }) => readDomains(signal),
    staleTime: 10_000,
  });
  const counts = useApiQuery(DomainCountsDocument, {});
  const hierarchy = useMemo(() => {
    // Wait for both, so that rows do not show a count of zero or shift when the counts arrive.
    if (domains.data === undefined || counts.data === undefined) return undefined;
    const facet = counts.data.aggregateAcrossEntities?.facets?.find(
      (candidate) => candidate.field === "domains",
    );
    return buildHierarchy(
      domains.data,
      new Map(facet?.aggregations.map((value) => [value.value, value.count])),
    );
  }, [domains.data, counts.data]);
  return { hierarchy, ...combineReads(domains, counts) };
}

/** Builds the hierarchy from records that name their parents. */
export function buildHierarchy(
  records: readonly DomainRecord[],
  counts: ReadonlyMap<string, number>,
): DomainHierarchy {
  const known = new Set(records.map((domain) => domain.urn));
  const children = new Map<string | null, DomainRecord[]>();
  for (const domain of records) {
    // Children of an unknown parent become roots.
    const parent = domain.parent !== null && known.has(domain.parent) ? domain.parent : null;
    const siblings = children.get(parent) ?? [];
    siblings.push(domain);
    children.set(parent, siblings);
  }
  const byUrn = new Map<string, DomainNode>();
  const nodesOf = (parent: DomainNode | null, depth: number): DomainNode[] =>
    (children.get(parent?.urn ?? null) ?? [])
      .toSorted((left, right) => collator.compare(left.name, right.name))
      .map((domain) => {
        const datasets = counts.get(domain.urn) ?? 0;
        const node = {
          urn: domain.urn,
          name: domain.name,
          canManage: domain.canManage,
          canManageChildren: domain.canManageChildren,
          parent,
          depth,
          directDatasets: datasets,
          totalDatasets: datasets,
          descendants: 0,
          children: [] as readonly DomainNode[],
        };
        byUrn.set(domain.urn, node);
        node.children = nodesOf(node, depth + 1);
        for (const child of node.children) {
          node.totalDatasets += child.totalDatasets;
          node.descendants += 1 + child.descendants;
        }
        return node;
      });
  return { roots: nodesOf(null, 0), byUrn };
}

/** The ancestors of a domain, from the root down. */
export function ancestorsOf(node: DomainNode): DomainNode[] {
  return node.parent === null ? [] : [...ancestorsOf(node.parent), node.parent];
}

/** Domains whose name contains the text, and their ancestors, without the subtree of `excluded`. */
export function matchingDomains(
  hierarchy: DomainHierarchy,
  text: string,
  excluded?: string,
): ReadonlySet<string> {
  const needle = text.trim().toLocaleLowerCase();
  const matches = new Set<string>();
  for (const node of hierarchy.byUrn.values()) {
    if (!node.name.toLocaleLowerCase().includes(needle)) continue;
    const path = [...ancestorsOf(node), node];
    if (path.some(({ urn }) => urn === excluded)) continue;
    for (const { urn } of path) matches.add(urn);
  }
  return matches;
}
