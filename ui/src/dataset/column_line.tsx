import { memo, useLayoutEffect, useRef, useState } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import type { Typed } from "../components/drafts.ts";
import { Markdown } from "../components/markdown.tsx";
import { mayDiscard, useUnsaved } from "../components/unsaved.ts";
import { StoredText } from "../description/stored_text.tsx";
import { texts } from "../texts.ts";
import type { ColumnRow } from "./column_rows.ts";
import type { Saving } from "./column_saving.ts";

/** Where somebody goes who has finished with a column. */
export type Step = "next" | "previous" | "here" | "elsewhere";

export interface LineActions {
  readonly onEdit: (path: string) => void;
  readonly onFold: (path: string) => void;
  /** What stands in the field; nothing when that is what it began with. */
  readonly onType: (path: string, typed: Typed | null) => void;
  readonly onSave: (path: string, typed: Typed) => void;
  readonly onLeave: (path: string, step: Step) => void;
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
  // What somebody else wrote is shown with who it was, and need not stand there twice.
  const isShownBelow = saving?.state === "conflict" && saving.theirs.text === row.written;
  return (
    <>
      <div className="column-said">
        <div>
          {row.written !== "" && !isShownBelow && <Markdown text={row.written} />}
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
              data-edits
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
        <h3>{texts.description.conflict.mine}</h3>
        <Markdown text={saving.mine} />
        <div className="writing-feet">
          <button type="button" onClick={() => actions.onSave(row.path, saving)}>
            {texts.errors.retry}
          </button>
          <button type="button" className="dangerous" onClick={() => actions.onForget(row.path)}>
            {texts.columns.discard}
          </button>
        </div>
      </div>
    );
  }
  return (
    <div className="conflict" role="alert">
      <p>{texts.columns.conflict}</p>
      <StoredText stored={saving.theirs} />
      <h3>{texts.description.conflict.mine}</h3>
      <Markdown text={saving.mine} />
      <div className="writing-feet">
        <button type="button" onClick={() => actions.onForget(row.path)}>
          {texts.columns.takeTheirs}
        </button>
        <button
          type="button"
          className="dangerous"
          onClick={() => actions.onSave(row.path, { mine: saving.mine, replaced: saving.theirs.text })}
        >
          {texts.columns.overwrite}
        </button>
      </div>
    </div>
  );
}

/** What an edit begins with: the text that could not be saved before, or else what is there. What ingestion said is only
 *  offered: unchanged, it is not something that a person said. */
function beginningOf(row: ColumnRow, saving: Saving | undefined): Typed {
  if (saving?.state === "failed") return saving;
  if (saving?.state === "conflict") return { mine: saving.mine, replaced: saving.theirs.text };
  return { mine: row.written === "" ? row.ingested : row.written, replaced: row.written };
}

/** A field in the place of the text. Tab saves and goes on; leaving it by the mouse saves, too. */
function LineEditor({ row, saving, actions }: OutcomeProperties) {
  // What is read anew while somebody writes must not pass for what they saw when they began.
  const [beginning] = useState(() => beginningOf(row, saving));
  const [text, setText] = useState(beginning.mine);
  const newest = useRef(text);
  const area = useRef<HTMLTextAreaElement>(null);
  const isDone = useRef(false);
  const hasChanged = () => newest.current !== beginning.mine;
  useUnsaved(() => !isDone.current && hasChanged());
  // Not a mere effect: those end only when the field is gone.
  useLayoutEffect(() => {
    area.current?.focus();
    area.current?.select();
    return () => {
      // A field that is taken away loses the focus, which is no wish to save.
      isDone.current = true;
    };
  }, []);
  const finish = (step: Step) => {
    if (isDone.current) return;
    isDone.current = true;
    if (hasChanged()) actions.onSave(row.path, { mine: newest.current, replaced: beginning.replaced });
    actions.onLeave(row.path, step);
  };
  return (
    <div className="column-writing">
      <textarea
        ref={area}
        rows={Math.min(8, Math.max(1, text.split("\n").length, Math.ceil(text.length / 60)))}
        aria-label={texts.columns.editing(row.readable)}
        value={text}
        onChange={(event) => {
          newest.current = event.target.value;
          setText(event.target.value);
          actions.onType(row.path, hasChanged() ? { mine: newest.current, replaced: beginning.replaced } : null);
        }}
        onBlur={(event) => {
          // A window that loses the focus, to a question say, has not left the field.
          if (document.activeElement !== event.currentTarget) finish("elsewhere");
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            if (hasChanged() && !mayDiscard()) return;
            isDone.current = true;
            actions.onType(row.path, null);
            actions.onLeave(row.path, "here");
          } else if (event.key === "Tab") {
            event.preventDefault();
            finish(event.shiftKey ? "previous" : "next");
          } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            finish("here");
          }
        }}
      />
      <span className="hint">{texts.columns.hint}</span>
    </div>
  );
}
