import { run } from "../api/client.ts";
import {
  CurrentColumnDescriptionDocument,
  CurrentDescriptionDocument,
} from "../generated/operations.ts";
import type { Nameable } from "../names.ts";

/** Who made a change, and when. */
export interface Authorship {
  readonly actor?: Nameable | null;
  readonly time: number;
}

/** A saved description with its author, if known. */
export interface SavedDescription {
  readonly text: string;
  readonly by: Authorship | undefined;
}

interface History {
  readonly isComplete: boolean;
  readonly changes: readonly Authorship[];
}

/** The author of the latest version of a text, if known. The oldest version in an incomplete
 *  history may have changed something else, so its author need not be the author of the text. */
export function lastEditOf(history: History | undefined): Authorship | undefined {
  if (history === undefined) return undefined;
  return history.changes.length > 1 || history.isComplete ? history.changes[0] : undefined;
}

/** Fetches the current description of an entity or one of its columns. */
export async function fetchSavedDescription(
  urn: string,
  column?: string,
): Promise<SavedDescription> {
  const reply =
    column === undefined
      ? await run(CurrentDescriptionDocument, { urn })
      : await run(CurrentColumnDescriptionDocument, { urn, column });
  return { text: reply.history.changes[0]?.text ?? "", by: lastEditOf(reply.history) };
}
