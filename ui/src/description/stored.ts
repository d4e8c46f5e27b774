import { run } from "../api/client.ts";
import { ColumnTextDocument, HistoryTextDocument } from "../generated/operations.ts";
import type { Nameable } from "../names.ts";

/** Who said something, and when. */
export interface Said {
  readonly actor?: Nameable | null;
  readonly time: number;
}

/** A description as it is stored, with who wrote it where that is known. */
export interface Stored {
  readonly text: string;
  readonly by: Said | undefined;
}

/** What is stored now about an entity or one of its columns. */
export async function storedNow(urn: string, column?: string): Promise<Stored> {
  const found =
    column === undefined ? await run(HistoryTextDocument, { urn }) : await run(ColumnTextDocument, { urn, column });
  const { changes, isComplete } = found.history;
  const newest = changes[0];
  // The oldest version that is kept may have changed something else: who wrote the text before it is no longer known.
  const isAuthorKnown = changes.length > 1 || isComplete;
  return { text: newest?.text ?? "", by: isAuthorKnown ? newest : undefined };
}
