import { QueryClient, keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";

import { MeDocument, type MeQuery } from "../generated/operations.ts";
import { ApiError, isUnauthenticated, run, runOrPropose } from "./client.ts";
import type { Operation } from "./operation.ts";
import { setSessionExpired } from "./session.ts";

const ME = [MeDocument.text, {}] as const;

export const cache = new QueryClient({
  defaultOptions: {
    // A browser that reports being offline may still reach a server on the same machine or network.
    mutations: { networkMode: "always" },
    queries: {
      networkMode: "always",
      refetchOnReconnect: true,
      staleTime: 10_000,
      // Retry only while the server is unreachable or restarting.
      retry: (attempts, error) =>
        error instanceof ApiError && (error.code === 0 || error.code === 503) && attempts < 2,
      retryDelay: (attempt) => 300 * 2 ** attempt,
    },
  },
});

interface QueryOptions {
  readonly enabled?: boolean;
  /** Shows the previous result until the next one arrives, to avoid layout shifts. */
  readonly keepPrevious?: boolean;
}

/** Runs a query, or returns its cached result while that is fresh. */
export function useApiQuery<Result, Variables>(
  operation: Operation<Result, Variables>,
  variables: Variables,
  options: QueryOptions = {},
) {
  return useQuery({
    queryKey: [operation.text, variables],
    queryFn: ({ signal }) => run(operation, variables, signal),
    enabled: options.enabled ?? true,
    ...(options.keepPrevious === true ? { placeholderData: keepPreviousData } : {}),
  });
}

/** The current user; `null` if not signed in. Keeps returning the user after their session has
 *  expired. */
export function useMe() {
  return useQuery({
    queryKey: ME,
    queryFn: async ({ signal }) => {
      try {
        const me = await run(MeDocument, {}, signal);
        setSessionExpired(false);
        return me;
      } catch (error) {
        if (isUnauthenticated(error)) return cache.getQueryData<MeQuery | null>(ME) ?? null;
        throw error;
      }
    },
    staleTime: 60_000,
  });
}

/** Runs a mutation and invalidates the whole cache, because any query may depend on it. */
export function useApiMutation<Result, Variables>(operation: Operation<Result, Variables>) {
  return useMutation({
    mutationFn: (variables: Variables) => run(operation, variables),
    onSuccess: refreshAll,
  });
}

/** Runs a mutation that may become a proposal, and returns whether it did: then nothing has changed
 *  yet, and there is nothing to undo. */
export function useProposableMutation<Result, Variables>(operation: Operation<Result, Variables>) {
  return useMutation({
    mutationFn: (variables: Variables) => runOrPropose(operation, variables),
    onSuccess: refreshAll,
  });
}

/** Reads everything on the page again. Requests under way may hold the state of before, so they are
 *  cancelled: invalidating alone lets the first request of a query finish. */
export async function refreshAll(): Promise<void> {
  await cache.cancelQueries();
  await cache.invalidateQueries();
}

/** Clears the cache after a sign-in or sign-out. */
export async function resetCache(): Promise<void> {
  cache.removeQueries({ predicate: (query) => query.queryKey[0] !== MeDocument.text });
  await cache.resetQueries({ queryKey: ME });
}

/** Refreshes everything after the same user has signed in again. */
export async function resumeSession(): Promise<void> {
  setSessionExpired(false);
  await refreshAll();
}
