import { memo, useEffect, useRef, useState } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { Markdown } from "../components/markdown.tsx";
import { useUnsaved } from "../components/unsaved.ts";
import { texts } from "../texts.ts";
import type { ColumnRow } from "./column_rows.ts";
import type { Saving } from "./column_saving.ts";

export interface LineActions {
  readonly onEdit: (path: string | null) => void;
  readonly onFold: (path: string) => void;
  /** Saves, and goes on to the column that is so many rows further. */
  readonly onSave: (row: ColumnRow, text: string, step: -1 | 0 | 1) => void;
  readonly onDecide: (row: ColumnRow, text: string, previous: string) => void;
  readonly onForget: (path: string) => void;
}

interface LineProperties {
  readonly urn: string;
  readonly row: ColumnRow;
  readonly isEditing: boolean;
  readonly isFolded: boolean;
  readonly canEdit: boolean;
  readonly saving: Saving | undefined;
  readonly actions: LineActions;
}

/** One column of the dataset: name, type, and what is said about it. */
export const ColumnLine = memo(function ColumnLine(properties: LineProperties) {
  const { row, isFolded, actions } = properties;
  return (
    <>
      <div role="rowheader" className="column-name" style={{ paddingInlineStart: `${row.depth * 1.1}rem` }}>
        {row.hasChildren && (
          <button
            type="button"
            className="fold"
            aria-expanded={!isFolded}
            aria-label={isFolded ? texts.columns.expand(row.readable) : texts.columns.collapse(row.readable)}
            onClick={() => actions.onFold(row.path)}
          >
            {isFolded ? "▸" : "▾"}
          </button>
        )}
        <code title={row.readable}>{row.name}</code>
        {row.isKey && (
          <span className="key" title={texts.columns.keyHint}>
            {texts.columns.key}
          </span>
        )}
      </div>
      <div role="cell" className="column-type" title={row.isNullable ? texts.columns.nullable : undefined}>
        {row.type}
        {row.isNullable && "?"}
      </div>
      <div role="cell" className="column-text">
        <Text {...properties} />
      </div>
    </>
  );
});

function Text({ urn, row, isEditing, canEdit, saving, actions }: LineProperties) {
  if (isEditing) return <LineEditor row={row} saving={saving} actions={actions} />;
  const isUndescribed = row.written === "" && row.ingested === "";
  return (
    <>
      <div className="column-said">
        <div>
          {row.written !== "" && <Markdown text={row.written} />}
          {row.ingested !== "" && row.ingested !== row.written && (
            <div className={row.written === "" ? "" : "column-ingested"}>
              <Markdown text={row.ingested} />
              {row.written !== "" && <span className="source">{texts.columns.ingested}</span>}
            </div>
          )}
        </div>
        <span className="column-actions">
          {row.written !== "" && (
            <Link
              href={addresses.history(addresses.dataset(urn), row.path)}
              aria-label={texts.columns.history(row.readable)}
            >
              {texts.columns.historyShort}
            </Link>
          )}
          {canEdit && (
            <button
              type="button"
              className="quiet"
              aria-label={isUndescribed ? texts.columns.describe(row.readable) : texts.columns.edit(row.readable)}
              onClick={() => actions.onEdit(row.path)}
            >
              {isUndescribed ? texts.columns.add : texts.description.edit}
            </button>
          )}
        </span>
      </div>
      <Outcome row={row} saving={saving} actions={actions} />
    </>
  );
}

type OutcomeProperties = Pick<LineProperties, "row" | "saving" | "actions">;

/** What became of the last attempt to save, if it needs a word. */
function Outcome({ row, saving, actions }: OutcomeProperties) {
  if (saving === undefined || saving.state === "saving") return null;
  if (saving.state === "failed") {
    return (
      <div className="problem" role="alert">
        <p>{saving.message}</p>
        <button type="button" onClick={() => actions.onDecide(row, saving.mine, row.written)}>
          {texts.errors.retry}
        </button>
      </div>
    );
  }
  return (
    <div className="conflict" role="alert">
      <p>{texts.columns.conflict}</p>
      <Markdown text={saving.theirs} />
      <h4>{texts.description.conflict.mine}</h4>
      <Markdown text={saving.mine} />
      <div className="writing-feet">
        <button type="button" onClick={() => actions.onForget(row.path)}>
          {texts.columns.takeTheirs}
        </button>
        <button type="button" className="dangerous" onClick={() => actions.onDecide(row, saving.mine, saving.theirs)}>
          {texts.columns.overwrite}
        </button>
      </div>
    </div>
  );
}

/** A field in the place of the text. Tab saves and goes on; leaving it by the mouse saves, too. */
function LineEditor({ row, actions }: OutcomeProperties) {
  const [text, setText] = useState(row.written === "" ? row.ingested : row.written);
  const area = useRef<HTMLTextAreaElement>(null);
  const isDone = useRef(false);
  const beginning = row.written === "" ? row.ingested : row.written;
  useUnsaved(text !== beginning);
  useEffect(() => {
    area.current?.focus();
    area.current?.select();
  }, []);
  const finish = (step: -1 | 0 | 1) => {
    if (isDone.current) return;
    isDone.current = true;
    // What ingestion said is only offered as a beginning: unchanged, it is not something that a person said.
    actions.onSave(row, text === beginning ? row.written : text, step);
  };
  return (
    <div className="column-writing">
      <textarea
        ref={area}
        rows={Math.min(8, Math.max(1, text.split("\n").length, Math.ceil(text.length / 60)))}
        aria-label={texts.columns.editing(row.readable)}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onBlur={() => finish(0)}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            isDone.current = true;
            actions.onEdit(null);
          } else if (event.key === "Tab") {
            event.preventDefault();
            finish(event.shiftKey ? -1 : 1);
          } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            finish(0);
          }
        }}
      />
      <span className="hint">{texts.columns.hint}</span>
    </div>
  );
}
