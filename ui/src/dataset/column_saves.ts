import type { Query } from "@tanstack/react-query";
import { useRef, useState } from "react";

import { cache, useMe } from "../api/cache.ts";
import { ApiError, runOrPropose } from "../api/client.ts";
import {
  columnDrafts,
  draftKey,
  deleteDraft,
  saveDraft,
  type Draft,
} from "../components/drafts.ts";
import { useUnsaved } from "../components/unsaved.ts";
import { fetchSavedDescription, type SavedDescription } from "../description/saved_description.ts";
import {
  ColumnsDocument,
  UpdateDescriptionDocument,
  type ColumnsQuery,
} from "../generated/operations.ts";
import { texts } from "../texts.ts";

/** The state of the last save of a column; absent if it succeeded. */
export type SaveState =
  | (Draft & { readonly state: "saving" })
  | (Draft & { readonly state: "conflict"; readonly theirs: SavedDescription })
  | (Draft & { readonly state: "failed"; readonly message: string });

const NO_SAVES: ReadonlyMap<string, SaveState> = new Map();

/** Saves column descriptions in the background, so that the user can go on to the next column. A
 *  failed save is kept until the user retries or discards it. */
export function useColumnSaves(urn: string, canEdit: boolean) {
  const user = useMe().data?.me?.corpUser.urn ?? "";
  const [shown, setShown] = useState(() => (canEdit ? restoredDrafts(user, urn) : NO_SAVES));
  const states = useRef(shown);
  /** Saves in progress by column. They run in order, or the second would look like a concurrent
   *  change. */
  const pending = useRef(new Map<string, Promise<void>>());
  const setState = (path: string, save: SaveState | null) => {
    const next = new Map(states.current);
    if (save === null) next.delete(path);
    else next.set(path, save);
    states.current = next;
    setShown(next);
    storeDraft(path, save);
  };
  /** Stores unsaved text in the browser tab. */
  const storeDraft = (path: string, draft: Draft | null) => {
    const key = draftKey(user, urn, path);
    if (draft === null) deleteDraft(key);
    else saveDraft(key, { text: draft.text, base: draft.base });
  };
  useUnsaved(() => [...states.current.values()].some((save) => save.state !== "saving"), {
    saving: () => (pending.current.size === 0 ? undefined : Promise.all(pending.current.values())),
    onDiscard: () => columnDrafts(user, urn).forEach((_, path) => storeDraft(path, null)),
  });

  const write = async (path: string, draft: Draft) => {
    let isProposed = false;
    try {
      isProposed = await runOrPropose(UpdateDescriptionDocument, {
        input: {
          resourceUrn: urn,
          subResource: path,
          subResourceType: "DATASET_FIELD",
          description: draft.text,
          previousDescription: draft.base,
        },
      });
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 409)) throw error;
      const theirs = await fetchSavedDescription(urn, path);
      // The same text is no conflict: an earlier attempt was saved and only its response was lost.
      if (theirs.text !== draft.text) {
        await updateCachedDescription(urn, path, theirs.text);
        setState(path, { ...draft, state: "conflict", theirs });
        return;
      }
    }
    // A refresh during the save may have returned the old text.
    await updateCachedDescription(urn, path, isProposed ? draft.base : draft.text);
    setState(path, null);
    if (isProposed) {
      // The columns stay as they are, and further saves may be in progress.
      const isOther = ({ queryKey }: Query) => queryKey[0] !== ColumnsDocument.text;
      void cache.invalidateQueries({ predicate: isOther });
    } else void cache.invalidateQueries({ refetchType: "none" });
  };

  const save = (path: string, draft: Draft) => {
    const previous = pending.current.get(path);
    if (draft.text === draft.base) {
      if (previous === undefined) setState(path, null);
      return;
    }
    const attempt = async () => {
      if (previous !== undefined) await previous;
      // If the previous save failed, this draft is based on text that was never saved.
      const last = states.current.get(path);
      const isBaseUnsaved = last?.state === "failed" && last.text === draft.base;
      const rebased = { text: draft.text, base: isBaseUnsaved ? last.base : draft.base };
      setState(path, { ...rebased, state: "saving" });
      await updateCachedDescription(urn, path, rebased.text);
      try {
        await write(path, rebased);
      } catch (error) {
        await updateCachedDescription(urn, path, rebased.base);
        setState(path, { ...rebased, state: "failed", message: (error as Error).message });
      }
    };
    const saving: Promise<void> = attempt().finally(() => {
      if (pending.current.get(path) === saving) pending.current.delete(path);
    });
    pending.current.set(path, saving);
  };

  return {
    states: shown,
    save,
    /** Stores the text being typed, or `null` if it is unchanged. */
    storeDraft: (path: string, draft: Draft | null) =>
      storeDraft(path, draft ?? states.current.get(path) ?? null),
    /** Keeps text that can't be saved. */
    fail: (path: string, draft: Draft, message: string) =>
      setState(path, { ...draft, state: "failed", message }),
    discard: (path: string) => setState(path, null),
  };
}

/** Drafts left from a previous visit to the page. */
function restoredDrafts(user: string, urn: string): ReadonlyMap<string, SaveState> {
  const drafts = [...columnDrafts(user, urn)];
  return new Map(
    drafts.map(([path, draft]) => [
      path,
      { ...draft, state: "failed", message: texts.description.draft },
    ]),
  );
}

/** Updates a description in the cached columns, cancelling any refresh that would overwrite it. */
async function updateCachedDescription(
  urn: string,
  path: string,
  description: string,
): Promise<void> {
  const key = [ColumnsDocument.text, { urn }];
  await cache.cancelQueries({ queryKey: key });
  cache.setQueryData<ColumnsQuery>(key, (columns) => {
    const dataset = columns?.dataset;
    if (dataset === null || dataset === undefined) return columns;
    const fields = dataset.editableSchemaMetadata?.editableSchemaFieldInfo ?? [];
    const others = fields.filter((field) => field.fieldPath !== path);
    const editableSchemaFieldInfo = [...others, { fieldPath: path, description }];
    return {
      ...columns,
      dataset: { ...dataset, editableSchemaMetadata: { editableSchemaFieldInfo } },
    };
  });
}
