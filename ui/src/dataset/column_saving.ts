import { useRef, useState } from "react";

import { cache, useMe } from "../api/cache.ts";
import { Failure, run } from "../api/client.ts";
import { columnDrafts, draftName, dropDraft, keepDraft, type Typed } from "../components/drafts.ts";
import { useUnsaved } from "../components/unsaved.ts";
import { storedNow, type Stored } from "../description/stored.ts";
import { ColumnsDocument, UpdateDescriptionDocument, type ColumnsQuery } from "../generated/operations.ts";
import { texts } from "../texts.ts";

/** How the last attempt to save a column went; nothing when it went well. */
export type Saving =
  | (Typed & { readonly state: "saving" })
  | (Typed & { readonly state: "conflict"; readonly theirs: Stored })
  | (Typed & { readonly state: "failed"; readonly message: string });

const NONE: ReadonlyMap<string, Saving> = new Map();

/** Saves descriptions of columns in the background, so that the next one can be written at once. What could not be saved is
 *  kept until somebody decides about it. */
export function useColumnSaving(urn: string, canEdit: boolean) {
  const person = useMe().data?.me?.corpUser.urn ?? "";
  const [shown, setShown] = useState(() => (canEdit ? keptStates(person, urn) : NONE));
  const states = useRef(shown);
  /** What is under way, by column: one after the other, or the second would look like a change made meanwhile. */
  const underWay = useRef(new Map<string, Promise<void>>());
  const mark = (path: string, saving: Saving | null) => {
    const next = new Map(states.current);
    if (saving === null) next.delete(path);
    else next.set(path, saving);
    states.current = next;
    setShown(next);
    note(path, saving);
  };
  /** Keeps a text in the tab as long as it is not saved. */
  const note = (path: string, typed: Typed | null) => {
    const name = draftName(person, urn, path);
    if (typed === null) dropDraft(name);
    else keepDraft(name, { mine: typed.mine, replaced: typed.replaced });
  };
  useUnsaved(() => [...states.current.values()].some((saving) => saving.state !== "saving"), {
    saving: () => (underWay.current.size === 0 ? undefined : Promise.all(underWay.current.values())),
    onDiscard: () => columnDrafts(person, urn).forEach((_, path) => note(path, null)),
  });

  const write = async (path: string, typed: Typed) => {
    try {
      await run(UpdateDescriptionDocument, {
        input: {
          resourceUrn: urn,
          subResource: path,
          subResourceType: "DATASET_FIELD",
          description: typed.mine,
          previousDescription: typed.replaced,
        },
      });
    } catch (problem) {
      if (!(problem instanceof Failure && problem.code === 409)) throw problem;
      const theirs = await storedNow(urn, path);
      // The same text is no conflict: it arrived before, and only the answer was lost.
      if (theirs.text !== typed.mine) {
        await show(urn, path, theirs.text);
        mark(path, { ...typed, state: "conflict", theirs });
        return;
      }
    }
    // What was read while it was being saved may still have the text of before.
    await show(urn, path, typed.mine);
    mark(path, null);
    void cache.invalidateQueries({ refetchType: "none" });
  };

  const save = (path: string, typed: Typed) => {
    const before = underWay.current.get(path);
    if (typed.mine === typed.replaced) {
      if (before === undefined) mark(path, null);
      return;
    }
    const attempt = async () => {
      if (before !== undefined) await before;
      // A text that never arrived is not there to be replaced.
      const last = states.current.get(path);
      const isLastMissing = last?.state === "failed" && last.mine === typed.replaced;
      const meant = { mine: typed.mine, replaced: isLastMissing ? last.replaced : typed.replaced };
      mark(path, { ...meant, state: "saving" });
      await show(urn, path, meant.mine);
      try {
        await write(path, meant);
      } catch (problem) {
        await show(urn, path, meant.replaced);
        mark(path, { ...meant, state: "failed", message: (problem as Error).message });
      }
    };
    const saving: Promise<void> = attempt().finally(() => {
      if (underWay.current.get(path) === saving) underWay.current.delete(path);
    });
    underWay.current.set(path, saving);
  };

  return {
    states: shown,
    save,
    /** What somebody is typing; nothing when they leave it as it was. */
    type: (path: string, typed: Typed | null) => note(path, typed ?? states.current.get(path) ?? null),
    /** Keeps a text that cannot be saved at all. */
    keep: (path: string, typed: Typed, message: string) => mark(path, { ...typed, state: "failed", message }),
    forget: (path: string) => mark(path, null),
  };
}

/** What was not saved when the page was last here. */
function keptStates(person: string, urn: string): ReadonlyMap<string, Saving> {
  const kept = [...columnDrafts(person, urn)];
  return new Map(kept.map(([path, typed]) => [path, { ...typed, state: "failed", message: texts.description.draft }]));
}

/** Puts a description into the columns that this page has read, and into nothing that is being read. */
async function show(urn: string, path: string, description: string): Promise<void> {
  const key = [ColumnsDocument.text, { urn }];
  await cache.cancelQueries({ queryKey: key });
  cache.setQueryData<ColumnsQuery>(key, (columns) => {
    const dataset = columns?.dataset;
    if (dataset === null || dataset === undefined) return columns;
    const before = dataset.editableSchemaMetadata?.editableSchemaFieldInfo ?? [];
    const others = before.filter((field) => field.fieldPath !== path);
    const editableSchemaFieldInfo = [...others, { fieldPath: path, description }];
    return { ...columns, dataset: { ...dataset, editableSchemaMetadata: { editableSchemaFieldInfo } } };
  });
}
