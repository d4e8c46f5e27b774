// All domains as a hierarchy, with dataset counts. Catalogs have about a thousand domains, not
// millions, so the page loads them all at once and filters trees and pickers without a request.

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { useApiQuery } from "./api/cache.ts";
import { run } from "./api/client.ts";
import { combineReads } from "./components/states.tsx";
import { DomainCountsDocument, AllDomainsDocument } from "./generated/operations.ts";
import { nameOf } from "./names.ts";
import { buildHierarchy, type Hierarchy, type Mutable, type TreeNode } from "./tree.ts";

export interface DomainNode extends TreeNode<DomainNode> {
  /** Datasets directly in the domain. */
  readonly directDatasets: number;
  /** Datasets in the domain and all its descendants. */
  readonly totalDatasets: number;
  /** Number of descendants at any depth. */
  readonly descendants: number;
  /** Whether the current user may rename, move and delete it. */
  readonly canManage: boolean;
  /** Whether the current user may add subdomains. */
  readonly canManageChildren: boolean;
}

export type DomainHierarchy = Hierarchy<DomainNode>;

interface DomainRecord {
  readonly urn: string;
  readonly name: string;
  readonly parent: string | null;
  readonly canManage: boolean;
  readonly canManageChildren: boolean;
}

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
    return hierarchyOf(
      domains.data,
      new Map(facet?.aggregations.map((value) => [value.value, value.count])),
    );
  }, [domains.data, counts.data]);
  return { hierarchy, ...combineReads(domains, counts) };
}

/** Builds the hierarchy with the counts of each subtree. */
function hierarchyOf(
  records: readonly DomainRecord[],
  counts: ReadonlyMap<string, number>,
): DomainHierarchy {
  return buildHierarchy<DomainRecord, DomainNode>(
    records,
    (domain, position) => {
      const datasets = counts.get(domain.urn) ?? 0;
      return {
        ...position,
        urn: domain.urn,
        name: domain.name,
        canManage: domain.canManage,
        canManageChildren: domain.canManageChildren,
        directDatasets: datasets,
        totalDatasets: datasets,
        descendants: 0,
        children: [],
      };
    },
    (node: Mutable<DomainNode>) => {
      for (const child of node.children) {
        node.totalDatasets += child.totalDatasets;
        node.descendants += 1 + child.descendants;
      }
    },
  );
}
