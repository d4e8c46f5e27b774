import { useEffect, useState } from "react";

import { Dialog } from "../components/dialog.tsx";
import { bulkTexts } from "../bulk_texts.ts";
import {
  ACTION_FACETS,
  isComplete,
  isRemoval,
  planOf,
  type ActionKind,
  type Choice,
} from "./actions.ts";
import { AddChoice, DeprecationChoice, RemovalChoice } from "./choices.tsx";
import type { Edit } from "./edits.ts";
import { readStates, type States } from "./entity_state.ts";
import { PlanPreview } from "./plan_preview.tsx";
import { RunView } from "./run_view.tsx";
import type { Selected } from "./selection.ts";
import { ErrorMessage } from "../components/states.tsx";

interface DialogProperties {
  readonly kind: ActionKind;
  /** The new domain, for the action that sets one. */
  readonly domain: { readonly urn: string; readonly name: string } | null;
  readonly selected: readonly Selected[];
  readonly onClose: () => void;
}

const NOTHING: Choice = {
  domain: null,
  elements: [],
  deprecation: { note: "", decommissionTime: null, replacement: null },
};

/** Chooses what to change, previews it, and changes it. */
export function ActionDialog({ kind, domain, selected, onClose }: DialogProperties) {
  // Fixed at the start: after a soft deletion, the list no longer has the entities.
  const [items] = useState(selected);
  const [choice, setChoice] = useState<Choice>({ ...NOTHING, domain: domain?.urn ?? null });
  const [names, setNames] = useState<ReadonlyMap<string, string>>(new Map());
  const [edits, setEdits] = useState<readonly Edit[] | null>(null);
  const read = useStates(items);
  const facet = ACTION_FACETS[kind];
  const choose = (elements: readonly string[]) => setChoice({ ...choice, elements });
  const plan =
    read.states === null || !isComplete(kind, choice)
      ? null
      : planOf(kind, choice, items, read.states.byUrn);
  return (
    <Dialog title={bulkTexts.titles[kind](items.length)} isOpen onClose={onClose} isWide>
      {edits !== null ? (
        <RunView edits={edits} onClose={onClose} />
      ) : (
        <form
          className="form"
          onSubmit={(event) => {
            event.preventDefault();
            if (plan !== null && plan.edits.length > 0) setEdits(plan.edits);
          }}
        >
          {kind === "setDomain" && <p>{bulkTexts.newDomain(domain?.name ?? "")}</p>}
          {kind === "delete" && <p className="hint">{bulkTexts.deleteHint}</p>}
          {kind === "deprecate" && (
            <DeprecationChoice onChange={(deprecation) => setChoice({ ...choice, deprecation })} />
          )}
          {(facet === "tags" || facet === "terms" || facet === "owners") &&
            (isRemoval(kind) ? (
              <RemovalChoice
                facet={facet}
                items={items}
                states={read.states}
                chosen={choice.elements}
                onChange={choose}
              />
            ) : (
              <AddChoice
                facet={facet}
                chosen={choice.elements}
                names={names}
                onChange={(elements, known) => {
                  setNames(new Map([...names, ...known]));
                  choose(elements);
                }}
              />
            ))}
          {read.error !== null && <ErrorMessage error={read.error} retry={read.retry} />}
          {read.error === null && read.states === null && (
            <p className="hint" role="status">
              {bulkTexts.reading(read.done, items.length)}
            </p>
          )}
          {plan !== null && (
            <PlanPreview plan={plan} facet={facet} names={read.states?.names ?? new Map()} />
          )}
          <div className="dialog-actions">
            <button type="button" onClick={onClose}>
              {bulkTexts.cancel}
            </button>
            <button
              type="submit"
              className="primary"
              disabled={plan === null || plan.edits.length === 0}
            >
              {plan !== null && plan.edits.length === 0
                ? bulkTexts.nothing
                : bulkTexts.apply(plan?.edits.length ?? items.length)}
            </button>
          </div>
        </form>
      )}
    </Dialog>
  );
}

/** Reads the current states of the entities, with progress. */
function useStates(items: readonly Selected[]) {
  const [states, setStates] = useState<States | null>(null);
  const [done, setDone] = useState(0);
  const [error, setError] = useState<Error | null>(null);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    setError(null);
    readStates(
      items.map(({ urn }) => urn),
      abort.signal,
      setDone,
    ).then(setStates, (failure: Error) => {
      if (!abort.signal.aborted) setError(failure);
    });
    return () => abort.abort();
  }, [attempt]);
  return { states, done, error, retry: () => setAttempt(attempt + 1) };
}
