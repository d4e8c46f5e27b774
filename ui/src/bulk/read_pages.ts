// Reads many entities, page by page. The API rejects a whole request because of a single invalid
// URN; then the page is halved until that URN is alone.

import { ApiError } from "../api/client.ts";

export function chunks<Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}

const BAD_REQUEST = 400;

/** Why the API rejected a URN, by URN. */
export type RejectedUrns = ReadonlyMap<string, string>;

/** Calls `read` with pages of the URNs, and returns those that are not valid. */
export async function readPages(
  urns: readonly string[],
  size: number,
  read: (page: readonly string[]) => Promise<void>,
  onProgress: (done: number) => void = () => undefined,
): Promise<RejectedUrns> {
  const rejected = new Map<string, string>();
  const readOrHalve = async (page: readonly string[]): Promise<void> => {
    try {
      await read(page);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== BAD_REQUEST) throw error;
      const [urn = ""] = page;
      if (page.length === 1) {
        rejected.set(urn, error.message);
        return;
      }
      const middle = Math.ceil(page.length / 2);
      await readOrHalve(page.slice(0, middle));
      await readOrHalve(page.slice(middle));
    }
  };
  let done = 0;
  for (const page of chunks(urns, size)) {
    await readOrHalve(page);
    done += page.length;
    onProgress(done);
  }
  return rejected;
}
