// The glossary as a hierarchy, with the number of entities that carry each term. Like domains, all
// entries are loaded at once, so that the tree and the picker filter without a request.

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { useApiQuery } from "../api/cache.ts";
import { run } from "../api/client.ts";
import { columnCountsOf, countsOf, labelFacets } from "../browse/counts.ts";
import { firstParagraph, plainText } from "../components/plain_text.ts";
import { combineReads } from "../components/states.tsx";
import { GlossaryEntriesDocument, ValueCountsDocument } from "../generated/operations.ts";
import { descriptionOf, nameOf } from "../names.ts";
import { buildHierarchy, type Hierarchy, type TreeNode } from "../tree.ts";

/** A term, or a group of terms. */
export interface GlossaryEntry extends TreeNode<GlossaryEntry> {
  readonly isGroup: boolean;
  /** The start of its definition, in one line. */
  readonly definition: string;
  /** Entities with the term. */
  readonly carriers: number;
  /** Entities with the term on a column. */
  readonly columnCarriers: number;
  /** Whether the current user may rename, move and delete it. */
  readonly canManage: boolean;
  /** Whether the current user may add entries to it. */
  readonly canManageChildren: boolean;
}

export type Glossary = Hierarchy<GlossaryEntry>;

/** The fields of the index that name the terms of an entity and of its columns. */
export const TERM_FIELDS = ["glossaryTerms", "fieldGlossaryTerms", "editedFieldGlossaryTerms"];

interface GlossaryRecord {
  readonly urn: string;
  readonly name: string;
  readonly parent: string | null;
  readonly isGroup: boolean;
  readonly definition: string;
  readonly canManage: boolean;
  readonly canManageChildren: boolean;
}

interface GlossaryRecords {
  readonly records: readonly GlossaryRecord[];
  readonly total: number;
}

const PAGE_SIZE = 1000;
/** The search API's limit. */
const MAX_ENTRIES = 10_000;

async function readEntries(signal: AbortSignal): Promise<GlossaryRecords> {
  const records: GlossaryRecord[] = [];
  let total = 0;
  for (let start = 0; start < MAX_ENTRIES; start += PAGE_SIZE) {
    const page = await run(GlossaryEntriesDocument, { start, count: PAGE_SIZE }, signal);
    const found = page.searchAcrossEntities;
    total = found?.total ?? 0;
    for (const { entity } of found?.searchResults ?? []) {
      if (!("parentNodes" in entity)) continue;
      const privileges = entity.privileges;
      records.push({
        urn: entity.urn,
        name: nameOf(entity),
        parent: entity.parentNodes?.nodes[0]?.urn ?? null,
        isGroup: entity.type === "GLOSSARY_NODE",
        definition: plainText(firstParagraph(descriptionOf(entity))),
        canManage: privileges?.canManageEntity === true,
        canManageChildren:
          privileges !== null &&
          privileges !== undefined &&
          "canManageChildren" in privileges &&
          privileges.canManageChildren === true,
      });
    }
    if (start + PAGE_SIZE >= total) break;
  }
  return { records, total };
}

/** Returns the glossary once loaded, with the state of the request. */
export function useGlossary() {
  const entries = useQuery({
    queryKey: [GlossaryEntriesDocument.text],
    queryFn: ({ signal }) => readEntries(signal),
    staleTime: 10_000,
  });
  const counts = useApiQuery(ValueCountsDocument, { facets: labelFacets(TERM_FIELDS) });
  const glossary = useMemo(() => {
    // Wait for both, so that rows do not show a count of zero or shift when the counts arrive.
    if (entries.data === undefined || counts.data === undefined) return undefined;
    return glossaryOf(
      entries.data.records,
      countsOf(counts.data, "glossaryTerms"),
      columnCountsOf(counts.data, TERM_FIELDS),
    );
  }, [entries.data, counts.data]);
  return { glossary, total: entries.data?.total ?? 0, ...combineReads(entries, counts) };
}

function glossaryOf(
  records: readonly GlossaryRecord[],
  carriers: ReadonlyMap<string, number>,
  columnCarriers: ReadonlyMap<string, number>,
): Glossary {
  return buildHierarchy<GlossaryRecord, GlossaryEntry>(records, (record, position) => ({
    ...position,
    urn: record.urn,
    name: record.name,
    isGroup: record.isGroup,
    definition: record.definition,
    canManage: record.canManage,
    canManageChildren: record.canManageChildren,
    carriers: carriers.get(record.urn) ?? 0,
    columnCarriers: columnCarriers.get(record.urn) ?? 0,
    children: [],
  }));
}

/** The groups and the terms at any depth below an entry. */
export function contentsOf(entry: GlossaryEntry): { groups: number; terms: number } {
  const contents = { groups: 0, terms: 0 };
  for (const child of entry.children) {
    const inner = contentsOf(child);
    contents.groups += inner.groups + (child.isGroup ? 1 : 0);
    contents.terms += inner.terms + (child.isGroup ? 0 : 1);
  }
  return contents;
}

/** The groups alone, as destinations of moves. */
export function groupsOf(glossary: Glossary): Glossary {
  const groups = [...glossary.byUrn.values()].filter((entry) => entry.isGroup);
  return buildHierarchy(
    groups.map((group) => ({
      urn: group.urn,
      name: group.name,
      parent: group.parent?.urn ?? null,
    })),
    ({ urn }, position) => ({ ...(glossary.byUrn.get(urn) as GlossaryEntry), ...position }),
  );
}
