import { useState } from "react";

import { AdminTable } from "../admin/common.tsx";
import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { EntityLink, RelativeTime } from "../components/common.tsx";
import { Dialog } from "../components/dialog.tsx";
import { ErrorMessage, LoadingOrError } from "../components/states.tsx";
import {
  CancelRunDocument,
  RunReportDocument,
  type SourceRunFragment,
} from "../generated/operations.ts";
import { ingestionTexts } from "../ingestion_texts.ts";
import { formatDateTime } from "../time.ts";

const words = ingestionTexts.runs;

const PENDING = "PENDING";
const FAILED = ["FAILURE", "TIMEOUT", "ABORTED", "ROLLBACK_FAILED"];
const SUCCEEDED = ["SUCCESS", "SUCCEEDED_WITH_WARNINGS"];
/** States in which a run can be cancelled. */
const UNFINISHED = [PENDING, "RUNNING", "UP_FOR_RETRY"];

const statusOf = (run: SourceRunFragment) => run.result?.status ?? PENDING;
const timeOf = (run: SourceRunFragment) => run.result?.startTimeMs ?? run.input.requestedAt;

/** The status of a run as a word, with its time on request. */
export function RunStatus({
  run,
  hasTime = false,
}: {
  readonly run: SourceRunFragment;
  readonly hasTime?: boolean;
}) {
  const status = statusOf(run);
  const state = FAILED.includes(status) ? "bad" : SUCCEEDED.includes(status) ? "good" : "none";
  return (
    <>
      <span className="run-status" data-state={state}>
        {words.statuses[status] ?? status}
      </span>
      {hasTime && (
        <span className="hint">
          {" "}
          <RelativeTime time={timeOf(run)} />
        </span>
      )}
    </>
  );
}

/** The runs of a source, newest first. */
export function Runs({
  source,
  runs,
  onDone,
}: {
  readonly source: string;
  readonly runs: readonly SourceRunFragment[];
  readonly onDone: (text: string | null) => void;
}) {
  const cancel = useApiMutation(CancelRunDocument);
  const [shown, setShown] = useState<SourceRunFragment | null>(null);
  return (
    <>
      {cancel.error !== null && <ErrorMessage error={cancel.error} />}
      <AdminTable columns={words.columns}>
        {runs.map((run) => {
          const time = formatDateTime(timeOf(run));
          const duration = run.result?.durationMs;
          return (
            <tr key={run.urn}>
              <th scope="row">
                <RelativeTime time={timeOf(run)} />
              </th>
              <td data-label={words.columns.by}>
                {run.input.actor !== null && <EntityLink entity={run.input.actor} />}
              </td>
              <td data-label={words.columns.status}>
                <RunStatus run={run} />
              </td>
              <td data-label={words.columns.duration}>
                {duration != null && words.duration(Math.round(duration / 1000))}
              </td>
              <td className="row-actions">
                {statusOf(run) !== PENDING && (
                  <button
                    type="button"
                    aria-label={words.reportLabel(time)}
                    onClick={() => setShown(run)}
                  >
                    {words.report}
                  </button>
                )}
                {UNFINISHED.includes(statusOf(run)) && (
                  <button
                    type="button"
                    className="subtle"
                    aria-label={words.cancelLabel(time)}
                    disabled={cancel.isPending}
                    onClick={() => {
                      onDone(null);
                      cancel.mutate(
                        { source, run: run.urn },
                        { onSuccess: () => onDone(words.cancelled) },
                      );
                    }}
                  >
                    {words.cancel}
                  </button>
                )}
              </td>
            </tr>
          );
        })}
      </AdminTable>
      {shown !== null && <Report run={shown} onClose={() => setShown(null)} />}
    </>
  );
}

function Report({
  run,
  onClose,
}: {
  readonly run: SourceRunFragment;
  readonly onClose: () => void;
}) {
  const read = useApiQuery(RunReportDocument, { urn: run.urn });
  const report = read.data?.executionRequest?.result?.report ?? "";
  return (
    <Dialog title={words.reportTitle} isOpen isWide onClose={onClose}>
      <p>
        <RunStatus run={run} hasTime />
      </p>
      {read.data === undefined ? (
        <LoadingOrError read={read} lines={4} />
      ) : report === "" ? (
        <p className="hint">{words.noReport}</p>
      ) : (
        <pre className="run-report" tabIndex={0}>
          {report}
        </pre>
      )}
    </Dialog>
  );
}
