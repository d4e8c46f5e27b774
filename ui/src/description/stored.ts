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

interface History {
  readonly isComplete: boolean;
  readonly changes: readonly Said[];
}

/** Who wrote the newest version of a text, where that is known. The oldest version that is kept may have changed something
 *  else: who wrote the text before it is no longer known. */
export function authorOf(history: History | undefined): Said | undefined {
  if (history === undefined) return undefined;
  return history.changes.length > 1 || history.isComplete ? history.changes[0] : undefined;
}

/** What is stored now about an entity or one of its columns. */
export async function storedNow(urn: string, column?: string): Promise<Stored> {
  const found =
    column === undefined ? await run(HistoryTextDocument, { urn }) : await run(ColumnTextDocument, { urn, column });
  return { text: found.history.changes[0]?.text ?? "", by: authorOf(found.history) };
}
