import { useRef, useState } from "react";

import { planImport, FileError, type FieldChange, type ImportPlan } from "../bulk/csv_import.ts";
import { MAX_ROWS } from "../bulk/csv_cells.ts";
import type { Edit } from "../bulk/edits.ts";
import { RunView } from "../bulk/run_view.tsx";
import { ErrorMessage, useTitle } from "../components/states.tsx";
import { TableScroll } from "../components/table_scroll.tsx";
import { csvTexts } from "../csv_texts.ts";
import { texts } from "../texts.ts";

const MAX_MEGABYTES = 50;
const BYTES_PER_MEGABYTE = 1_000_000;
/** Rows of a table that are shown at once. */
const SHOWN_ROWS = 100;

/** Imports an edited CSV file: choose, compare, apply. */
export function CsvImportPage() {
  const words = csvTexts;
  useTitle(words.title);
  const [plan, setPlan] = useState<ImportPlan | null>(null);
  const [progress, setProgress] = useState<readonly [number, number] | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [edits, setEdits] = useState<readonly Edit[] | null>(null);
  const abort = useRef(new AbortController());
  const reset = () => {
    abort.current.abort();
    setPlan(null);
    setEdits(null);
    setError(null);
    setProgress(null);
  };
  const compare = async (file: File) => {
    reset();
    abort.current = new AbortController();
    const { signal } = abort.current;
    setProgress([0, 0]);
    try {
      const text = await readText(file);
      const onProgress = (done: number, total: number) => setProgress([done, total]);
      const compared = await planImport(text, { signal, onProgress });
      if (!signal.aborted) setPlan(compared);
    } catch (failure) {
      if (!signal.aborted) setError(failure as Error);
    }
    if (!signal.aborted) setProgress(null);
  };
  return (
    <div className="bulk-page">
      <h1>{words.title}</h1>
      {edits !== null ? (
        <RunView edits={edits} onClose={reset} />
      ) : (
        <>
          <p>{words.intro}</p>
          <ul>
            {words.rules.map((rule) => (
              <li key={rule}>{rule}</li>
            ))}
            <li>{words.limits(MAX_ROWS, MAX_MEGABYTES)}</li>
          </ul>
          <label className="bulk-search">
            {words.choose}{" "}
            <input
              type="file"
              accept=".csv,text/csv"
              onChange={(event) => {
                const file = event.target.files?.[0];
                if (file !== undefined) void compare(file);
              }}
            />
          </label>
          <div role="status">
            {progress !== null && <p className="hint">{words.reading(...progress)}</p>}
          </div>
          {error !== null && <ErrorMessage error={error} />}
          {plan !== null && <Difference plan={plan} onApply={setEdits} />}
        </>
      )}
    </div>
  );
}

async function readText(file: File): Promise<string> {
  const { problems } = csvTexts;
  if (file.size > MAX_MEGABYTES * BYTES_PER_MEGABYTE)
    throw new FileError(problems.tooLarge(MAX_MEGABYTES));
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new FileError(problems.encoding);
  }
}

/** What the file changes, what it leaves, and what is wrong with it. */
function Difference({
  plan,
  onApply,
}: {
  readonly plan: ImportPlan;
  readonly onApply: (edits: readonly Edit[]) => void;
}) {
  const words = csvTexts;
  const [isOverwriting, setOverwriting] = useState(false);
  const changes = isOverwriting ? [...plan.changes, ...plan.conflicts] : plan.changes;
  return (
    <>
      <div role="status">
        <ul>
          <li>{words.summary.changed(plan.changes.length)}</li>
          <li>{words.summary.unchanged(plan.unchangedRows)}</li>
          {plan.conflicts.length > 0 && <li>{words.summary.conflicts(plan.conflicts.length)}</li>}
          {plan.invalid.length > 0 && <li>{words.summary.invalid(plan.invalid.length)}</li>}
          {plan.emptied > 0 && <li>{words.summary.emptied(plan.emptied)}</li>}
          {!plan.isChecked && <li>{words.summary.unchecked}</li>}
          {plan.ignored.length > 0 && <li>{words.summary.ignored(texts.list(plan.ignored))}</li>}
        </ul>
      </div>
      {plan.invalid.length > 0 && (
        <section aria-labelledby="csv-errors">
          <h2 id="csv-errors">{words.errors}</h2>
          <Paged rows={plan.invalid}>
            {(rows) => (
              <table className="data-table stacked bulk-table">
                <thead>
                  <tr>
                    <th scope="col">{words.line}</th>
                    <th scope="col">{words.item}</th>
                    <th scope="col">{words.problem}</th>
                  </tr>
                </thead>
                <tbody>
                  {rows.map((row) => (
                    <tr key={row.line}>
                      <td>{texts.number(row.line)}</td>
                      <td>{row.name}</td>
                      <td>{row.problems.join(". ")}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )}
          </Paged>
        </section>
      )}
      <Changes id="csv-conflicts" heading={words.conflicts} changes={plan.conflicts} />
      {plan.conflicts.length > 0 && (
        <label className="bulk-check">
          <input
            type="checkbox"
            checked={isOverwriting}
            onChange={(event) => setOverwriting(event.target.checked)}
          />
          {words.overwrite}
        </label>
      )}
      <Changes id="csv-changes" heading={words.changes} changes={plan.changes} />
      <div className="dialog-actions">
        <button
          type="button"
          className="primary"
          disabled={changes.length === 0}
          onClick={() => onApply(changes.map(({ edit }) => edit))}
        >
          {changes.length === 0 ? words.noChanges : words.apply(changes.length)}
        </button>
      </div>
    </>
  );
}

function Changes({
  id,
  heading,
  changes,
}: {
  readonly id: string;
  readonly heading: string;
  readonly changes: readonly FieldChange[];
}) {
  const words = csvTexts;
  if (changes.length === 0) return null;
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{heading}</h2>
      <Paged rows={changes}>
        {(rows) => (
          <table className="data-table stacked bulk-table">
            <thead>
              <tr>
                <th scope="col">{words.line}</th>
                <th scope="col">{words.item}</th>
                <th scope="col">{words.field}</th>
                <th scope="col">{words.before}</th>
                <th scope="col">{words.after}</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((change) => (
                <tr key={`${change.line} ${change.field}`}>
                  <td>{texts.number(change.line)}</td>
                  <td dir="auto">
                    {change.name}
                    {change.edit.facet === "column" && <code> {change.edit.path}</code>}
                  </td>
                  <td>{words.fields[change.field]}</td>
                  <td className="cell-text" dir="auto">
                    {change.before || <span className="hint">{words.nothing}</span>}
                  </td>
                  <td className="cell-text" dir="auto">
                    {change.after || <span className="hint">{words.nothing}</span>}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Paged>
    </section>
  );
}

/** Shows the first rows of a long table, and more on request. */
function Paged<Row>({
  rows,
  children,
}: {
  readonly rows: readonly Row[];
  readonly children: (rows: readonly Row[]) => React.ReactNode;
}) {
  const [shown, setShown] = useState(SHOWN_ROWS);
  return (
    <>
      <TableScroll>{children(rows.slice(0, shown))}</TableScroll>
      {rows.length > shown && (
        <button type="button" className="subtle" onClick={() => setShown(shown + SHOWN_ROWS)}>
          {csvTexts.more(Math.min(SHOWN_ROWS, rows.length - shown))}
        </button>
      )}
    </>
  );
}

export default CsvImportPage;
