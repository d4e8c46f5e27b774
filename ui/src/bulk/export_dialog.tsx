import { useRef, useState } from "react";

import { Dialog } from "../components/dialog.tsx";
import { ErrorMessage } from "../components/states.tsx";
import { csvTexts } from "../csv_texts.ts";
import { bulkTexts } from "../bulk_texts.ts";
import { saveFile } from "../components/csv.ts";
import { exportColumns, exportEntities, type Export } from "./csv_export.ts";
import { MAX_ROWS } from "./csv_cells.ts";
import { readMatches, type Matching } from "./matches.ts";
import { MAX_SELECTED, type Selected } from "./selection.ts";

interface ExportProperties {
  /** What to export: the selection, or all results of a search. */
  readonly selected?: readonly Selected[];
  readonly matching?: Matching;
  readonly onClose: () => void;
}

type Contents = "entities" | "columns";

/** Exports entities or the columns of datasets, with progress. */
export function ExportDialog({ selected, matching, onClose }: ExportProperties) {
  const words = csvTexts;
  const [contents, setContents] = useState<Contents>("entities");
  const [progress, setProgress] = useState<readonly [number, number] | null>(null);
  const [finished, setFinished] = useState<Export | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const abort = useRef(new AbortController());
  const start = async () => {
    abort.current = new AbortController();
    const { signal } = abort.current;
    setError(null);
    setFinished(null);
    setProgress([0, selected?.length ?? 0]);
    try {
      const all =
        selected ??
        (matching === undefined
          ? []
          : await readMatches(matching, { limit: MAX_SELECTED, signal }));
      const urns = all
        .filter(({ type }) => contents === "entities" || type === "DATASET")
        .map(({ urn }) => urn);
      const options = { signal, onProgress: (done: number) => setProgress([done, urns.length]) };
      const made = await (contents === "entities"
        ? exportEntities(urns, options)
        : exportColumns(urns, options));
      saveFile(contents === "entities" ? "catalog.csv" : "columns.csv", made.parts);
      setFinished(made);
    } catch (failure) {
      if (!signal.aborted) setError(failure as Error);
    }
    setProgress(null);
  };
  const close = () => {
    abort.current.abort();
    onClose();
  };
  return (
    <Dialog title={words.exportTitle} isOpen onClose={close}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
      >
        <p className="hint">{words.exportHint}</p>
        <fieldset className="bulk-options">
          <legend>{words.contents}</legend>
          {(["entities", "columns"] as const).map((option) => (
            <label key={option} className="bulk-option">
              <input
                type="radio"
                name="contents"
                checked={contents === option}
                onChange={() => setContents(option)}
              />
              {words[option]}
            </label>
          ))}
        </fieldset>
        <div role="status">
          {progress !== null && <p className="hint">{words.progress(...progress)}</p>}
          {finished !== null && <p>{words.finished(finished.rows)}</p>}
          {finished?.isTruncated === true && <p>{words.truncated(MAX_ROWS)}</p>}
        </div>
        {error !== null && <ErrorMessage error={error} />}
        <div className="dialog-actions">
          <button type="button" onClick={close}>
            {finished === null ? bulkTexts.cancel : bulkTexts.close}
          </button>
          <button type="submit" className="primary" disabled={progress !== null}>
            {words.download}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

export default ExportDialog;
