import { MutationCache, QueryCache, QueryClient, keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";

import { MeDocument } from "../generated/operations.ts";
import { Failure, run } from "./client.ts";
import type { Operation } from "./operation.ts";

const ME = [MeDocument.text, {}] as const;

/** Whoever is refused as a stranger is asked to sign in again: the page then asks who `me` is and finds nobody. */
function noticeStrangers(error: Error) {
  if (error instanceof Failure && error.code === 401) cache.setQueryData(ME, null);
}

export const cache = new QueryClient({
  queryCache: new QueryCache({ onError: noticeStrangers }),
  mutationCache: new MutationCache({ onError: noticeStrangers }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // What cannot succeed is not tried again; a server that restarts is.
      retry: (attempts, error) => error instanceof Failure && (error.code === 0 || error.code === 503) && attempts < 2,
      retryDelay: (attempt) => 300 * 2 ** attempt,
    },
  },
});

interface ReadOptions {
  readonly enabled?: boolean;
  /** Shows the last answer until the next one is there, so that nothing jumps. */
  readonly keep?: boolean;
}

/** What an operation answers, from the cache where it is fresh. */
export function useRead<Result, Variables>(
  operation: Operation<Result, Variables>,
  variables: Variables,
  options: ReadOptions = {},
) {
  return useQuery({
    queryKey: [operation.text, variables],
    queryFn: ({ signal }) => run(operation, variables, signal),
    enabled: options.enabled ?? true,
    ...(options.keep === true ? { placeholderData: keepPreviousData } : {}),
  });
}

/** Who is signed in; `null` for a stranger. */
export function useMe() {
  return useQuery({
    queryKey: ME,
    queryFn: async ({ signal }) => {
      try {
        return await run(MeDocument, {}, signal);
      } catch (error) {
        if (error instanceof Failure && error.code === 401) return null;
        throw error;
      }
    },
    staleTime: 60_000,
  });
}

/** A change. Whatever it touched is somewhere in the cache, so all of it is asked for again when it is looked at. */
export function useChange<Result, Variables>(operation: Operation<Result, Variables>) {
  return useMutation({
    mutationFn: (variables: Variables) => run(operation, variables),
    onSuccess: () => cache.invalidateQueries(),
  });
}

/** Forgets everything: another person is there now. */
export async function forgetEverything(): Promise<void> {
  await cache.refetchQueries({ queryKey: ME });
  cache.removeQueries({ predicate: (query) => query.queryKey[0] !== MeDocument.text });
}
