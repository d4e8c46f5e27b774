// Loads the entities of a lineage graph with their neighbors, in batches.

import { useQueries, type UseQueryResult } from "@tanstack/react-query";
import { useCallback, useState } from "react";

import { run } from "../api/client.ts";
import type { ReadState } from "../components/states.tsx";
import { LineageEntitiesDocument, type LineageEntitiesQuery } from "../generated/operations.ts";
import type { Neighbors, NeighborList } from "./graph.ts";

export type LineageEntity = NonNullable<LineageEntitiesQuery["entities"]>[number] & {};
type Relationships = NonNullable<
  Extract<LineageEntity, { readonly upstream?: unknown }>["upstream"]
>;

/** Entities per request. */
const BATCH = 100;
/** Neighbors to read of each entity; more only if the user asks for them. */
const NEIGHBORS = 200;
/** The most neighbors of one entity that the API returns. */
export const MAX_NEIGHBORS = 1_000;

/** The period in which the shown edges existed, in milliseconds; `null` is open. */
export interface Period {
  readonly start: number | null;
  readonly end: number | null;
}

interface Batch {
  readonly urns: readonly string[];
  readonly count: number;
}

interface Loaded {
  readonly entities: ReadonlyMap<string, LineageEntity>;
  readonly neighbors: ReadonlyMap<string, Neighbors>;
  readonly isLoading: boolean;
  readonly read: ReadState;
}

const NONE: NeighborList = { total: 0, items: [] };
/** Stands for an entity that the user may not see. */
export const isRestricted = (urn: string) => urn.startsWith("urn:li:restricted:");

/** Entities and their neighbors, as far as they have been requested. */
export function useLineageEntities({ start, end }: Period) {
  const [batches, setBatches] = useState<readonly Batch[]>([]);
  const combine = useCallback(
    (results: readonly UseQueryResult<LineageEntitiesQuery>[]) => merge(batches, results),
    [batches],
  );
  const loaded = useQueries({
    queries: batches.map(({ urns, count }) => {
      const variables = { urns: [...urns], count, start, end };
      return {
        queryKey: [LineageEntitiesDocument.text, variables],
        queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
          run(LineageEntitiesDocument, variables, signal),
      };
    }),
    combine,
  });
  const request = useCallback((urns: readonly string[]) => {
    setBatches((current) => {
      const requested = new Set(current.flatMap((batch) => batch.urns));
      const missing = urns.filter((urn) => !requested.has(urn) && !isRestricted(urn));
      const added: Batch[] = [];
      for (let from = 0; from < missing.length; from += BATCH)
        added.push({ urns: missing.slice(from, from + BATCH), count: NEIGHBORS });
      return added.length === 0 ? current : [...current, ...added];
    });
  }, []);
  /** Reads all neighbors of an entity that the API returns. */
  const requestAll = useCallback((urn: string) => {
    setBatches((current) => {
      const isRequested = current.some(
        ({ urns, count }) => count === MAX_NEIGHBORS && urns.includes(urn),
      );
      return isRequested ? current : [...current, { urns: [urn], count: MAX_NEIGHBORS }];
    });
  }, []);
  return { ...loaded, request, requestAll };
}

function merge(
  batches: readonly Batch[],
  results: readonly UseQueryResult<LineageEntitiesQuery>[],
): Loaded {
  const entities = new Map<string, LineageEntity>();
  const neighbors = new Map<string, Neighbors>();
  results.forEach(({ data }, index) => {
    if (data === undefined) return;
    // Later batches have more neighbors. An entity that the API does not return has none.
    for (const urn of batches[index]?.urns ?? []) {
      if (!neighbors.has(urn)) neighbors.set(urn, { upstream: NONE, downstream: NONE });
    }
    for (const entity of data.entities ?? []) {
      if (entity === null || entity === undefined) continue;
      entities.set(entity.urn, entity);
      if (!("upstream" in entity)) continue;
      const { upstream, downstream } = entity;
      neighbors.set(entity.urn, { upstream: listOf(upstream), downstream: listOf(downstream) });
    }
  });
  const failed = results.find(({ error }) => error !== null);
  return {
    entities,
    neighbors,
    isLoading: results.some(({ isPending }) => isPending),
    read: {
      isLoadingError: results.some(({ isLoadingError }) => isLoadingError),
      isRefetchError: results.some(({ isRefetchError }) => isRefetchError),
      error: failed?.error ?? null,
      refetch: () => Promise.all(results.map((result) => result.isError && result.refetch())),
    },
  };
}

function listOf(result: Relationships | null | undefined): NeighborList {
  if (result === null || result === undefined) return NONE;
  return {
    total: result.total ?? result.relationships.length,
    items: result.relationships.flatMap(({ entity, isManual }) =>
      entity === null || entity === undefined
        ? []
        : [{ urn: entity.urn, isManual: isManual === true }],
    ),
  };
}
