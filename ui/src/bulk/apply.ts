// Writes a list of edits: in batches, with progress, and so that one rejected entity does not stop
// the others. The API changes all entities of a batch or none; a rejected batch is halved until
// the entities that cause it are alone.

import { ApiError, runOrPropose } from "../api/client.ts";
import type { Operation } from "../api/operation.ts";
import {
  BatchAddOwnersDocument,
  BatchAddTagsDocument,
  BatchAddTermsDocument,
  BatchDeprecateDocument,
  BatchRemoveOwnersDocument,
  BatchRemoveTagsDocument,
  BatchRemoveTermsDocument,
  BatchSetDomainDocument,
  BatchSoftDeleteDocument,
  UpdateDescriptionDocument,
} from "../generated/operations.ts";
import { bulkTexts } from "../bulk_texts.ts";
import {
  inverse,
  isSetEdit,
  isTextEdit,
  mutationKey,
  stepsOf,
  type Edit,
  type SetEdit,
  type TextEdit,
} from "./edits.ts";
import { READ_SIZE, readStates, type EntityState } from "./entity_state.ts";
import { chunks } from "./read_pages.ts";
import { canonical, difference, ownerOf } from "./values.ts";

export type Outcome =
  | { readonly kind: "done" | "proposed" | "unchanged" | "conflict" | "skipped" }
  | { readonly kind: "failed"; readonly reason: string };

export type OutcomeKind = Outcome["kind"];

export interface Result {
  readonly edit: Edit;
  readonly outcome: Outcome;
}

export interface Report {
  readonly results: readonly Result[];
  /** The steps that are done, those of earlier attempts first. */
  readonly steps: readonly Edit[];
  /** The edits that restore what the steps have changed. */
  readonly undo: readonly Edit[];
}

/** Texts written at the same time. */
const PARALLEL_TEXTS = 4;
const CONFLICT = 409;
/** Codes after which further requests would fail, too: no connection, no session, overload. */
const FATAL_CODES: readonly number[] = [0, 401, 503];

interface Options {
  readonly signal: AbortSignal;
  readonly onProgress: (done: number) => void;
  /** The steps that earlier attempts of the same run have done, for the undo. */
  readonly earlier: readonly Edit[];
}

/** Applies the edits and returns what became of each. Stops between batches when it is aborted. */
export async function applyEdits(edits: readonly Edit[], options: Options): Promise<Report> {
  const outcomes = new Map<Edit, Outcome>();
  const doneSteps: Edit[] = [...options.earlier];
  let isStopped = false;
  // An edit is done when its last step is; a failed step ends it.
  const open = new Map(edits.map((edit) => [edit, [...stepsOf(edit)]]));
  const settle = (edit: Edit, outcome: Outcome) => {
    open.delete(edit);
    outcomes.set(edit, outcome);
    options.onProgress(outcomes.size);
  };
  for (const [edit, steps] of open) {
    if (steps.length === 0) settle(edit, { kind: "unchanged" });
  }
  while (open.size > 0 && !isStopped) {
    for (const batch of batchesOf([...open].map(([edit, steps]) => [edit, steps[0] as Edit]))) {
      if (isStopped || options.signal.aborted) {
        isStopped = true;
        break;
      }
      const written = await writeBatch([...batch.values()]);
      for (const [edit, step] of batch) {
        const outcome = written.outcomes.get(step) ?? { kind: "skipped" };
        if (outcome.kind === "done") doneSteps.push(step);
        const rest = open.get(edit)?.slice(1) ?? [];
        const isOver = outcome.kind === "failed" || outcome.kind === "conflict";
        if (rest.length > 0 && !isOver && outcome.kind !== "skipped") open.set(edit, rest);
        else settle(edit, outcome);
      }
      isStopped ||= written.isFatal;
    }
  }
  for (const edit of open.keys()) outcomes.set(edit, { kind: "skipped" });
  return {
    results: edits.map((edit) => ({ edit, outcome: outcomes.get(edit) ?? { kind: "skipped" } })),
    steps: doneSteps,
    undo: inverse(doneSteps),
  };
}

/** The next step of each edit, in batches of equal mutations. */
function batchesOf(steps: readonly (readonly [Edit, Edit])[]): readonly Map<Edit, Edit>[] {
  const byKey = new Map<string, [Edit, Edit][]>();
  for (const [edit, step] of steps) {
    const key = isTextEdit(step) ? "text" : mutationKey(step);
    byKey.set(key, [...(byKey.get(key) ?? []), [edit, step]]);
  }
  return [...byKey].flatMap(([key, all]) => {
    const size = key === "text" ? PARALLEL_TEXTS : READ_SIZE;
    return chunks(all, size).map((chunk) => new Map(chunk));
  });
}

interface Written {
  readonly outcomes: ReadonlyMap<Edit, Outcome>;
  readonly isFatal: boolean;
}

async function writeBatch(steps: readonly Edit[]): Promise<Written> {
  const outcomes = new Map<Edit, Outcome>();
  let isFatal = false;
  const fail = (failed: readonly Edit[], error: unknown) => {
    isFatal ||= isFatalError(error);
    const reason = error instanceof Error ? error.message : String(error);
    for (const step of failed) outcomes.set(step, { kind: "failed", reason });
  };
  if (steps.every(isTextEdit)) {
    await Promise.all(
      steps.map((step) =>
        writeText(step).then(
          (outcome) => outcomes.set(step, outcome),
          (error: unknown) => fail([step], error),
        ),
      ),
    );
    return { outcomes, isFatal };
  }
  try {
    // Reads again right before the write, to leave alone what somebody else changed since the preview.
    // The API has no preconditions for these values: a change between the two requests is overwritten.
    const urns = steps.map(({ urn }) => urn);
    const { byUrn } = await readStates(urns, new AbortController().signal);
    for (const step of steps) outcomes.set(step, readiness(step, byUrn.get(step.urn)));
  } catch (error) {
    fail(steps, error);
    return { outcomes, isFatal };
  }
  const ready = steps.filter((step) => outcomes.get(step)?.kind === "done");
  const write = async (part: readonly Edit[]): Promise<void> => {
    if (part.length === 0) return;
    if (isFatal) {
      for (const step of part) outcomes.set(step, { kind: "skipped" });
      return;
    }
    try {
      const isProposed = await mutate(part);
      if (isProposed) for (const step of part) outcomes.set(step, { kind: "proposed" });
    } catch (error) {
      if (part.length === 1 || isFatalError(error)) {
        fail(part, error);
        return;
      }
      const middle = Math.ceil(part.length / 2);
      await write(part.slice(0, middle));
      await write(part.slice(middle));
    }
  };
  await write(ready);
  return { outcomes, isFatal };
}

const isFatalError = (error: unknown) =>
  error instanceof ApiError && FATAL_CODES.includes(error.code);

/** Compares a step with the current state: to be done, done already, or in conflict. */
function readiness(step: Edit, state: EntityState | undefined): Outcome {
  if (step.facet === "column") return { kind: "done" };
  if (state === undefined) return { kind: "failed", reason: bulkTexts.missing };
  const current = state.values[step.facet];
  if (current === undefined) return { kind: "failed", reason: bulkTexts.notApplicable };
  if (isSetEdit(step)) return setReadiness(step, current as readonly string[]);
  if (canonical(current) === canonical(step.after)) return { kind: "unchanged" };
  return { kind: canonical(current) === canonical(step.before) ? "done" : "conflict" };
}

/** Other elements of a set may have changed; only those of the step count. */
function setReadiness(step: SetEdit, current: readonly string[]): Outcome {
  const added = difference(step.after, step.before);
  const removed = difference(step.before, step.after);
  const missing = difference(added, current);
  const present = difference(removed, difference(removed, current));
  if (missing.length + present.length === 0) return { kind: "unchanged" };
  const isAll = missing.length === added.length && present.length === removed.length;
  return { kind: isAll ? "done" : "conflict" };
}

async function writeText(step: TextEdit): Promise<Outcome> {
  try {
    const isProposed = await runOrPropose(UpdateDescriptionDocument, {
      input: {
        resourceUrn: step.urn,
        description: step.after,
        previousDescription: step.before,
        ...(step.facet === "column"
          ? { subResource: step.path, subResourceType: "DATASET_FIELD" as const }
          : {}),
      },
    });
    return { kind: isProposed ? "proposed" : "done" };
  } catch (error) {
    if (error instanceof ApiError && error.code === CONFLICT) return { kind: "conflict" };
    throw error;
  }
}

/** Runs the mutation of equal steps. Returns whether it became a proposal. */
async function mutate(steps: readonly Edit[]): Promise<boolean> {
  const [first] = steps;
  if (first === undefined) return false;
  const resources = steps.map(({ urn }) => ({ resourceUrn: urn }));
  switch (first.facet) {
    case "domain":
      return runOrPropose(BatchSetDomainDocument, { domain: first.after, resources });
    case "tags":
      return mutateLabels(first, resources, BatchAddTagsDocument, BatchRemoveTagsDocument);
    case "terms":
      return mutateLabels(first, resources, BatchAddTermsDocument, BatchRemoveTermsDocument);
    case "owners":
      return mutateOwners(first, resources);
    case "deprecation":
      return runOrPropose(BatchDeprecateDocument, {
        deprecated: first.after !== null,
        note: first.after?.note ?? null,
        decommissionTime: first.after?.decommissionTime ?? null,
        replacement: first.after?.replacement ?? null,
        resources,
      });
    case "removed": {
      const urns = steps.map(({ urn }) => urn);
      return runOrPropose(BatchSoftDeleteDocument, { urns, deleted: first.after });
    }
    case "description":
    case "column":
      throw new Error(`texts are written one by one, not as ${first.facet} batches`);
  }
}

interface Resource {
  readonly resourceUrn: string;
}

interface LabelVariables {
  readonly labels: readonly string[];
  readonly resources: readonly Resource[];
}

function mutateLabels<Added, Removed>(
  step: SetEdit,
  resources: readonly Resource[],
  addition: Operation<Added, LabelVariables>,
  removal: Operation<Removed, LabelVariables>,
): Promise<boolean> {
  const labels = difference(step.after, step.before);
  if (labels.length > 0) return runOrPropose(addition, { labels, resources });
  return runOrPropose(removal, { labels: difference(step.before, step.after), resources });
}

function mutateOwners(step: SetEdit, resources: readonly Resource[]): Promise<boolean> {
  const added = difference(step.after, step.before).map(ownerOf);
  if (added.length > 0) {
    const owners = added.map(({ owner, type }) => ({
      ownerUrn: owner,
      ownerEntityType: owner.startsWith("urn:li:corpGroup:")
        ? ("CORP_GROUP" as const)
        : ("CORP_USER" as const),
      ownershipTypeUrn: type,
    }));
    return runOrPropose(BatchAddOwnersDocument, { owners, resources });
  }
  const removed = difference(step.before, step.after).map(ownerOf);
  return runOrPropose(BatchRemoveOwnersDocument, {
    owners: removed.map(({ owner }) => owner),
    ownershipType: removed[0]?.type || null,
    resources,
  });
}
