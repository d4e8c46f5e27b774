// The tabs of the dataset page between the columns and the history. To add one: a line in `TABS`,
// with its count in `query DatasetTabs` if it has one.

import { lazy, type ComponentType } from "react";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { loadChunk } from "../components/chunks.ts";
import type { EntityTab } from "../components/sections.tsx";
import { DatasetTabsDocument, type DatasetTabsQuery } from "../generated/operations.ts";
import { texts } from "../texts.ts";

/** A tab of the dataset page. */
interface DatasetTab {
  /** Its name in the address, as in DataHub. */
  readonly segment: string;
  /** Names of DataHub's tabs whose content this one shows. */
  readonly aliases: readonly string[];
  readonly label: string;
  /** How many entries it has; nothing for tabs without entries. */
  readonly count?: (counts: DatasetTabsQuery) => number | undefined;
  /** Whether the dataset has anything for it; always, unless given. */
  readonly isShown?: (counts: DatasetTabsQuery) => boolean;
  /** Loaded on demand. */
  readonly content: ComponentType<{ readonly urn: string }>;
}

const TABS: readonly DatasetTab[] = [
  {
    segment: "Lineage",
    aliases: [],
    label: texts.dataset.tabs.lineage,
    count: ({ dataset }) => nonZero(dataset?.upstream?.total, dataset?.downstream?.total),
    content: lazy(() => loadChunk(import("../lineage/lineage.tsx"))),
  },
  {
    segment: "Quality",
    aliases: ["Validation", "Validations", "Incidents", "Data Contract"],
    label: texts.dataset.tabs.quality,
    count: ({ dataset }) => nonZero(dataset?.assertions?.total, dataset?.incidents?.total),
    content: lazy(() => loadChunk(import("../trust/quality.tsx"))),
  },
  {
    segment: "Usage",
    aliases: ["Stats", "Operations"],
    label: texts.dataset.tabs.usage,
    content: lazy(() => loadChunk(import("../trust/usage.tsx"))),
  },
  {
    segment: "Queries",
    aliases: [],
    label: texts.dataset.tabs.queries,
    count: ({ listQueries }) => nonZero(listQueries?.total),
    content: lazy(() => loadChunk(import("../trust/queries.tsx"))),
  },
  {
    segment: "Properties",
    aliases: [],
    label: texts.dataset.tabs.properties,
    count: ({ dataset }) =>
      nonZero(
        dataset?.structuredProperties?.properties?.length,
        dataset?.properties?.customProperties?.length,
      ),
    content: lazy(() => loadChunk(import("../trust/properties.tsx"))),
  },
  {
    segment: "Forms",
    aliases: [],
    label: texts.dataset.tabs.forms,
    count: ({ dataset }) => nonZero(dataset?.forms?.incompleteForms.length),
    isShown: ({ dataset }) =>
      nonZero(dataset?.forms?.incompleteForms.length, dataset?.forms?.completedForms.length) !==
      undefined,
    content: lazy(() => loadChunk(import("../forms/asset_forms.tsx"))),
  },
];

/** The sum, unless there is nothing to count. */
function nonZero(...counts: readonly (number | null | undefined)[]): number | undefined {
  const sum = counts.reduce<number>((total, count) => total + (count ?? 0), 0);
  return sum === 0 ? undefined : sum;
}

/** The tab that an address names, if it is one of these. */
export function datasetTab(segment: string | undefined): DatasetTab | undefined {
  const names = ({ segment: name, aliases }: DatasetTab) => [name, ...aliases];
  return TABS.find((tab) => segment !== undefined && names(tab).includes(segment));
}

/** The tabs with their counts, which appear when they are known. */
export function useDatasetTabs(urn: string, current: DatasetTab | undefined): readonly EntityTab[] {
  const counts = useApiQuery(DatasetTabsDocument, { urn }).data;
  const isShown = (tab: DatasetTab) =>
    tab === current || tab.isShown === undefined || (counts !== undefined && tab.isShown(counts));
  return TABS.filter(isShown).map((tab) => ({
    address: addresses.datasetTab(urn, tab.segment),
    label: tab.label,
    count: counts === undefined ? undefined : tab.count?.(counts),
    isCurrent: tab === current,
  }));
}
