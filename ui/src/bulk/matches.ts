import { run } from "../api/client.ts";
import {
  ScrollMatchesDocument,
  type AndFilterInput,
  type EntityType,
  type ScrollMatchesQuery,
} from "../generated/operations.ts";
import { isSelectable, selectedOf, type Selected } from "./selection.ts";

/** What a list shows: a search without its page. */
export interface Matching {
  readonly query: string;
  readonly types: readonly EntityType[];
  readonly filters: readonly AndFilterInput[];
  /** A saved search that limits it further. */
  readonly viewUrn?: string | null;
}

const SCROLL_SIZE = 1000;

interface Options {
  readonly limit: number;
  readonly signal: AbortSignal;
  readonly onProgress?: (done: number, total: number) => void;
}

/** Reads the entities that match, up to a limit. */
export async function readMatches(
  matching: Matching,
  { limit, signal, onProgress }: Options,
): Promise<readonly Selected[]> {
  const found: Selected[] = [];
  let read = 0;
  let scroll: string | null = null;
  do {
    const reply: ScrollMatchesQuery = await run(
      ScrollMatchesDocument,
      { ...matching, scroll, count: Math.min(SCROLL_SIZE, limit - read) },
      signal,
    );
    const page = reply.scrollAcrossEntities;
    const results = page?.searchResults ?? [];
    read += results.length;
    found.push(...results.map(({ entity }) => selectedOf(entity)).filter(isSelectable));
    onProgress?.(read, Math.min(limit, page?.total ?? 0));
    scroll = page?.nextScrollId ?? null;
  } while (scroll !== null && read < limit);
  return found;
}
