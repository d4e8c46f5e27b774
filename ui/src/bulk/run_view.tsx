import { useEffect, useRef, useState } from "react";

import { refreshAll, useMe } from "../api/cache.ts";
import { focusOnMount } from "../components/focus.ts";
import { useUnsaved } from "../components/unsaved.ts";
import { readablePath } from "../dataset/field_path.ts";
import { bulkTexts } from "../bulk_texts.ts";
import { applyEdits, type OutcomeKind, type Report, type Result } from "./apply.ts";
import type { Edit } from "./edits.ts";
import { setLastRun } from "./last_run.ts";

const MAX_LISTED = 50;
/** In the order in which they are reported. */
const OUTCOMES: readonly OutcomeKind[] = [
  "done",
  "proposed",
  "unchanged",
  "conflict",
  "failed",
  "skipped",
];

interface RunProperties {
  readonly edits: readonly Edit[];
  /** Whether the edits undo an earlier run. */
  readonly isUndo?: boolean;
  readonly onClose: () => void;
  /** Called with the results of each run, of an undo too. */
  readonly onFinished?: (results: readonly Result[]) => void;
}

interface Attempt {
  readonly edits: readonly Edit[];
  readonly isUndo: boolean;
  /** The steps done by earlier attempts, which an undo reverts, too. */
  readonly earlier: readonly Edit[];
}

/** Applies edits as soon as it is shown: progress, then what became of each, with undo. */
export function RunView({ edits, isUndo = false, onClose, onFinished }: RunProperties) {
  const user = useMe().data?.me?.corpUser.urn;
  const [current, setCurrent] = useState<Attempt>({ edits, isUndo, earlier: [] });
  const [done, setDone] = useState(0);
  const [report, setReport] = useState<Report | null>(null);
  const running = useRef<Promise<unknown> | undefined>(undefined);
  const abort = useRef(new AbortController());
  useUnsaved(() => false, { saving: () => running.current });
  /** Starts the next run. The report of the last one goes at once, with its buttons. */
  const start = (next: Attempt) => {
    setDone(0);
    setReport(null);
    setCurrent(next);
  };
  useEffect(() => {
    abort.current = new AbortController();
    running.current = applyEdits(current.edits, {
      signal: abort.current.signal,
      onProgress: setDone,
      earlier: current.earlier,
    }).then(async (finished) => {
      running.current = undefined;
      setReport(finished);
      const { undo } = finished;
      const { isUndo } = current;
      setLastRun(undo.length === 0 ? null : { user, isUndo, changed: undo.length, undo });
      onFinished?.(finished.results);
      await refreshAll();
    });
  }, [current]);
  if (report === null) {
    const total = current.edits.length;
    return (
      <div className="bulk-run">
        <progress max={total} value={done} aria-label={bulkTexts.writing(done, total)} />
        <p className="hint" role="status">
          {bulkTexts.writing(done, total)}
        </p>
        <div className="dialog-actions">
          <button type="button" ref={focusOnMount} onClick={() => abort.current.abort()}>
            {bulkTexts.cancel}
          </button>
        </div>
      </div>
    );
  }
  const open = report.results.filter(
    ({ outcome }) => outcome.kind === "failed" || outcome.kind === "skipped",
  );
  return (
    <div className="bulk-run">
      <div role="status">
        {OUTCOMES.map((kind) => (
          <OutcomeList
            key={kind}
            kind={kind}
            isUndo={current.isUndo}
            results={report.results.filter(({ outcome }) => outcome.kind === kind)}
          />
        ))}
      </div>
      <div className="dialog-actions">
        {report.undo.length > 0 && (
          <button
            type="button"
            onClick={() => start({ edits: report.undo, isUndo: !current.isUndo, earlier: [] })}
          >
            {current.isUndo ? bulkTexts.redo : bulkTexts.undo}
          </button>
        )}
        {open.length > 0 && (
          <button
            type="button"
            onClick={() =>
              start({ ...current, edits: open.map(({ edit }) => edit), earlier: report.steps })
            }
          >
            {bulkTexts.retry(open.length)}
          </button>
        )}
        <button type="button" className="primary" ref={focusOnMount} onClick={onClose}>
          {bulkTexts.close}
        </button>
      </div>
    </div>
  );
}

/** The results with one outcome: listed unless all is well. */
function OutcomeList({
  kind,
  isUndo,
  results,
}: {
  readonly kind: OutcomeKind;
  readonly isUndo: boolean;
  readonly results: readonly Result[];
}) {
  if (results.length === 0) return null;
  const isUndone = isUndo && kind === "done";
  const heading = (isUndone ? bulkTexts.undone : bulkTexts.outcomes[kind])(results.length);
  if (kind === "done") return <p>{heading}</p>;
  return (
    <details className="bulk-group" open={kind === "failed" || kind === "conflict"}>
      <summary>{heading}</summary>
      <ul>
        {results.slice(0, MAX_LISTED).map(({ edit, outcome }, index) => (
          <li key={index}>
            {edit.name}
            {edit.facet === "column" && <code> {readablePath(edit.path)}</code>}
            {outcome.kind === "failed" && <span className="hint">: {outcome.reason}</span>}
          </li>
        ))}
        {results.length > MAX_LISTED && <li>{bulkTexts.andMore(results.length - MAX_LISTED)}</li>}
      </ul>
    </details>
  );
}
