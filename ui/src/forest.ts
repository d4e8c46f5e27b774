// The domains as trees, with how many datasets are in each and below each. There are a thousand domains or so, not a
// million: all of them are read at once, so that every tree and every picker filters without asking the server.

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { useRead } from "./api/cache.ts";
import { run } from "./api/client.ts";
import { together } from "./components/states.tsx";
import { DomainCountsDocument, DomainForestDocument } from "./generated/operations.ts";
import { nameOf } from "./names.ts";
import { texts } from "./texts.ts";

export interface Tree {
  readonly urn: string;
  readonly name: string;
  readonly parent: Tree | null;
  readonly children: readonly Tree[];
  /** Datasets directly in the domain. */
  readonly direct: number;
  /** Datasets in the domain and in everything below it. */
  readonly recursive: number;
  /** Domains below it, at any depth. */
  readonly below: number;
  readonly depth: number;
  /** Whether whoever is signed in may rename, move and delete it. */
  readonly canManage: boolean;
  /** Whether they may put domains into it. */
  readonly canManageChildren: boolean;
}

export interface Forest {
  readonly roots: readonly Tree[];
  readonly byUrn: ReadonlyMap<string, Tree>;
}

interface Planted {
  readonly urn: string;
  readonly name: string;
  readonly parent: string | null;
  readonly canManage: boolean;
  readonly canManageChildren: boolean;
}

/** As people count: 2 stands before 10. */
const names = new Intl.Collator(texts.locale, { numeric: true });

const PAGE = 1000;
/** What a search can page through. */
const MOST = 10_000;

async function readDomains(signal: AbortSignal): Promise<Planted[]> {
  const planted: Planted[] = [];
  for (let start = 0; start < MOST; start += PAGE) {
    const page = await run(DomainForestDocument, { start, count: PAGE }, signal);
    const found = page.searchAcrossEntities;
    for (const { entity } of found?.searchResults ?? []) {
      if (!("parentDomains" in entity)) continue;
      planted.push({
        urn: entity.urn,
        name: nameOf(entity),
        parent: entity.parentDomains?.domains[0]?.urn ?? null,
        canManage: entity.privileges?.canManageEntity === true,
        canManageChildren: entity.privileges?.canManageChildren === true,
      });
    }
    if (start + PAGE >= (found?.total ?? 0)) break;
  }
  return planted;
}

/** The trees as soon as they are there, and how reading them goes. */
export function useForest() {
  const domains = useQuery({
    queryKey: [DomainForestDocument.text],
    queryFn: ({ signal }) => readDomains(signal),
    staleTime: 10_000,
  });
  const counts = useRead(DomainCountsDocument, {});
  const forest = useMemo(() => {
    // Both at once: numbers that come late would make lines jump, and none are not zero.
    if (domains.data === undefined || counts.data === undefined) return undefined;
    const facet = counts.data.aggregateAcrossEntities?.facets?.find((found) => found.field === "domains");
    return grow(domains.data, new Map(facet?.aggregations.map((value) => [value.value, value.count])));
  }, [domains.data, counts.data]);
  return { forest, ...together(domains, counts) };
}

/** Trees from a list in which each names its parent. */
export function grow(planted: readonly Planted[], counts: ReadonlyMap<string, number>): Forest {
  const known = new Set(planted.map((domain) => domain.urn));
  const children = new Map<string | null, Planted[]>();
  for (const domain of planted) {
    // A parent that nobody can see leaves its children at the top.
    const parent = domain.parent !== null && known.has(domain.parent) ? domain.parent : null;
    const siblings = children.get(parent) ?? [];
    siblings.push(domain);
    children.set(parent, siblings);
  }
  const byUrn = new Map<string, Tree>();
  const plant = (parent: Tree | null, depth: number): Tree[] =>
    (children.get(parent?.urn ?? null) ?? [])
      .toSorted((one, other) => names.compare(one.name, other.name))
      .map((domain) => {
        const own = counts.get(domain.urn) ?? 0;
        const tree = {
          urn: domain.urn,
          name: domain.name,
          canManage: domain.canManage,
          canManageChildren: domain.canManageChildren,
          parent,
          depth,
          direct: own,
          recursive: own,
          below: 0,
          children: [] as readonly Tree[],
        };
        byUrn.set(domain.urn, tree);
        tree.children = plant(tree, depth + 1);
        for (const child of tree.children) {
          tree.recursive += child.recursive;
          tree.below += 1 + child.below;
        }
        return tree;
      });
  return { roots: plant(null, 0), byUrn };
}

/** The trees from the top down to one, without it. */
export function pathTo(tree: Tree): Tree[] {
  return tree.parent === null ? [] : [...pathTo(tree.parent), tree.parent];
}

/** Everything whose name has a text in it, with what stands above it, but nothing of the tree `without`. */
export function matching(forest: Forest, text: string, without?: string): ReadonlySet<string> {
  const wanted = text.trim().toLocaleLowerCase();
  const found = new Set<string>();
  for (const tree of forest.byUrn.values()) {
    if (!tree.name.toLocaleLowerCase().includes(wanted)) continue;
    const path = [...pathTo(tree), tree];
    if (path.some((part) => part.urn === without)) continue;
    for (const part of path) found.add(part.urn);
  }
  return found;
}
