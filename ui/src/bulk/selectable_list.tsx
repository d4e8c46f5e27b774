import { createContext, lazy, Suspense, useContext, useRef, useState, type ReactNode } from "react";

import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { loadChunk } from "../components/chunks.ts";
import { ErrorMessage } from "../components/states.tsx";
import type { Nameable } from "../names.ts";
import { selectionTexts } from "../selection_texts.ts";
import { useLastRun } from "./last_run.ts";
import { readMatches, type Matching } from "./matches.ts";
import {
  MAX_SELECTED,
  isSelectable,
  selectedOf,
  useSelection,
  type Selected,
} from "./selection.ts";

// Loaded once something is selected.
const SelectionBar = lazy(() => loadChunk(import("./selection_bar.tsx")));
const ExportDialog = lazy(() => loadChunk(import("./export_dialog.tsx")));

type Listed = Nameable & { readonly urn: string; readonly type: string };

interface List {
  readonly selected: ReadonlyMap<string, Selected>;
  readonly toggle: (urn: string, isRange: boolean) => void;
}

const ListContext = createContext<List | null>(null);

interface ListProperties {
  readonly entities: readonly Listed[];
  /** The search that the list is a page of, and its number of results. */
  readonly matching: Matching;
  readonly total: number;
  readonly children: ReactNode;
}

/** A list whose entities can be selected, with the bar of what to do with them. */
export function SelectableList({ entities, matching, total, children }: ListProperties) {
  const { selected, select } = useSelection();
  const lastRun = useLastRun();
  /** The last entity that was selected by itself: the start of a range. */
  const anchor = useRef<string | null>(null);
  const items = entities.filter(isSelectable).map(selectedOf);
  const toggle = (urn: string, isRange: boolean) => {
    const to = items.findIndex((item) => item.urn === urn);
    const from = isRange ? items.findIndex((item) => item.urn === anchor.current) : -1;
    const range =
      from < 0 ? items.slice(to, to + 1) : items.slice(Math.min(from, to), Math.max(from, to) + 1);
    // A range gets the state that its start has.
    const isOn = from < 0 ? !selected.has(urn) : selected.has(anchor.current ?? "");
    anchor.current = urn;
    select(range, isOn);
  };
  const isHere = (urn: string) => items.some((item) => item.urn === urn);
  const elsewhere = [...selected.keys()].filter((urn) => !isHere(urn)).length;
  return (
    <ListContext.Provider value={{ selected, toggle }}>
      {items.length > 0 && <SelectAll items={items} matching={matching} total={total} />}
      {children}
      <div role="status" className="visually-hidden">
        {selected.size > 0 ? selectionTexts.selected(selected.size) : ""}
      </div>
      {(selected.size > 0 || lastRun !== null) && (
        <Suspense>
          <SelectionBar elsewhere={elsewhere} />
        </Suspense>
      )}
    </ListContext.Provider>
  );
}

/** Selects an entity of the list around it; shift selects the range since the last one. */
export function SelectBox({ entity }: { readonly entity: Listed }) {
  const list = useContext(ListContext);
  if (list === null || !isSelectable(entity)) return null;
  const { urn, name } = selectedOf(entity);
  return (
    <input
      type="checkbox"
      className="select-box"
      aria-label={selectionTexts.select(name)}
      checked={list.selected.has(urn)}
      // Not a change event, which does not tell whether shift is held.
      onClick={(event) => list.toggle(urn, event.shiftKey)}
    />
  );
}

/** Selects the page, or all results. */
function SelectAll({
  items,
  matching,
  total,
}: {
  readonly items: readonly Selected[];
  readonly matching: Matching;
  readonly total: number;
}) {
  const { selected, select } = useSelection();
  const [progress, setProgress] = useState<readonly [number, number] | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [isExporting, setExporting] = useState(false);
  const abort = useRef(new AbortController());
  const here = items.filter(({ urn }) => selected.has(urn)).length;
  const limit = Math.min(total, MAX_SELECTED);
  const selectMatching = async () => {
    abort.current = new AbortController();
    const { signal } = abort.current;
    setError(null);
    setProgress([0, limit]);
    try {
      select(
        await readMatches(matching, {
          limit,
          signal,
          onProgress: (done, all) => setProgress([done, all]),
        }),
        true,
      );
    } catch (failure) {
      if (!signal.aborted) setError(failure as Error);
    }
    setProgress(null);
  };
  return (
    <div className="select-all">
      <label>
        <input
          type="checkbox"
          checked={here === items.length}
          ref={(box) => {
            if (box !== null) box.indeterminate = here > 0 && here < items.length;
          }}
          onChange={(event) => select(items, event.target.checked)}
        />
        {selectionTexts.selectPage}
      </label>
      {progress === null && total > items.length && (
        <button type="button" className="subtle" onClick={() => void selectMatching()}>
          {limit < total
            ? selectionTexts.selectFirst(limit, total)
            : selectionTexts.selectAll(total)}
        </button>
      )}
      <button type="button" className="subtle select-export" onClick={() => setExporting(true)}>
        {limit < total ? selectionTexts.exportFirst(limit, total) : selectionTexts.exportAll(total)}
      </button>
      <Link href={addresses.csvImport}>{selectionTexts.importLink}</Link>
      {isExporting && (
        <Suspense>
          <ExportDialog matching={matching} onClose={() => setExporting(false)} />
        </Suspense>
      )}
      {progress !== null && (
        <>
          <span className="hint" role="status">
            {selectionTexts.selecting(...progress)}
          </span>
          <button type="button" className="subtle" onClick={() => abort.current.abort()}>
            {selectionTexts.cancel}
          </button>
        </>
      )}
      {selected.size >= MAX_SELECTED && (
        <span className="hint">{selectionTexts.selectLimit(MAX_SELECTED)}</span>
      )}
      {error !== null && <ErrorMessage error={error} />}
    </div>
  );
}
