import { QueryClient, keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";

import { MeDocument, type MeQuery } from "../generated/operations.ts";
import { Failure, isStranger, run } from "./client.ts";
import type { Operation } from "./operation.ts";
import { noteSession } from "./session.ts";

const ME = [MeDocument.text, {}] as const;

export const cache = new QueryClient({
  defaultOptions: {
    // A browser that says it is offline may well reach a server on the same machine or in the house.
    mutations: { networkMode: "always" },
    queries: {
      networkMode: "always",
      refetchOnReconnect: true,
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

/** Who is signed in; `null` for a stranger. Whoever was signed in and lost the session is still the one who sits there. */
export function useMe() {
  return useQuery({
    queryKey: ME,
    queryFn: async ({ signal }) => {
      try {
        const me = await run(MeDocument, {}, signal);
        noteSession(false);
        return me;
      } catch (error) {
        if (isStranger(error)) return cache.getQueryData<MeQuery | null>(ME) ?? null;
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
  cache.removeQueries({ predicate: (query) => query.queryKey[0] !== MeDocument.text });
  await cache.resetQueries({ queryKey: ME });
}

/** Asks for everything again: the same person is there again. */
export async function comeBack(): Promise<void> {
  noteSession(false);
  await cache.invalidateQueries();
}
