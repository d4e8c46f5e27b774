import type { EntityType } from "../generated/operations.ts";

/** What has a domain, tags and terms, can be in a data product, and has a page here. */
export const ASSET_TYPES: readonly EntityType[] = [
  "DATASET",
  "DASHBOARD",
  "CHART",
  "DATA_FLOW",
  "DATA_JOB",
  "CONTAINER",
];
