import { memo, useLayoutEffect, useRef, useState } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import type { Draft } from "../components/drafts.ts";
import { Markdown } from "../components/markdown.tsx";
import { confirmDiscard, useUnsaved } from "../components/unsaved.ts";
import { SavedText } from "../description/saved_text.tsx";
import { texts } from "../texts.ts";
import type { ColumnRow } from "./column_rows.ts";
import type { SaveState } from "./column_saves.ts";

/** Where the focus goes when the editor of a column closes. */
export type FocusTarget = "next" | "previous" | "here" | "elsewhere";

export interface ColumnActions {
  readonly onEdit: (path: string) => void;
  readonly onToggle: (path: string) => void;
  /** Called with the draft, or `null` when the text is unchanged. */
  readonly onChange: (path: string, draft: Draft | null) => void;
  readonly onSave: (path: string, draft: Draft) => void;
  readonly onClose: (path: string, target: FocusTarget) => void;
  readonly onDiscard: (path: string) => void;
}

interface ColumnProperties {
  readonly urn: string;
  readonly row: ColumnRow;
  readonly isEditing: boolean;
  readonly isCollapsed: boolean;
  readonly canEdit: boolean;
  readonly save: SaveState | undefined;
  readonly actions: ColumnActions;
}

/** The cells of one column: name, type and description. */
export const ColumnCells = memo(function ColumnCells(properties: ColumnProperties) {
  const { row, isCollapsed, actions } = properties;
  return (
    <>
      <div
        role="rowheader"
        className="column-name"
        style={{ paddingInlineStart: `${row.depth * 1.1}rem` }}
      >
        {row.hasChildren && (
          <button
            type="button"
            className="expand-button"
            aria-expanded={!isCollapsed}
            aria-label={
              isCollapsed
                ? texts.columns.expand(row.readable)
                : texts.columns.collapse(row.readable)
            }
            onClick={() => actions.onToggle(row.path)}
          >
            {isCollapsed ? "▸" : "▾"}
          </button>
        )}
        <code title={row.readable}>{row.name}</code>
        {row.isKey && (
          <span className="key" title={texts.columns.keyHint}>
            {texts.columns.key}
          </span>
        )}
      </div>
      <div
        role="cell"
        className="column-type"
        title={row.isNullable ? texts.columns.nullable : undefined}
      >
        {row.type}
        {row.isNullable && "?"}
      </div>
      <div role="cell" className="column-text">
        <ColumnDescription {...properties} />
      </div>
    </>
  );
});

function ColumnDescription({ urn, row, isEditing, canEdit, save, actions }: ColumnProperties) {
  if (isEditing) return <ColumnEditor row={row} save={save} actions={actions} />;
  const hasNone = row.edited === "" && row.imported === "";
  // A conflict already shows their text with its author.
  const isShownBelow = save?.state === "conflict" && save.theirs.text === row.edited;
  return (
    <>
      <div className="column-description">
        <div>
          {row.edited !== "" && !isShownBelow && <Markdown text={row.edited} />}
          {row.imported !== "" && row.imported !== row.edited && (
            <div className={row.edited === "" ? "" : "column-imported"}>
              <Markdown text={row.imported} />
              {row.edited !== "" && <span className="source">{texts.columns.imported}</span>}
            </div>
          )}
        </div>
        <span className="column-actions">
          {row.edited !== "" && (
            <Link
              href={addresses.history(addresses.dataset(urn), row.path)}
              aria-label={texts.columns.historyLabel(row.readable)}
            >
              {texts.columns.history}
            </Link>
          )}
          {canEdit && (
            <button
              type="button"
              className="subtle"
              data-edit-button
              aria-label={
                hasNone
                  ? texts.columns.addLabel(row.readable)
                  : texts.columns.editLabel(row.readable)
              }
              onClick={() => actions.onEdit(row.path)}
            >
              {hasNone ? texts.columns.add : texts.description.edit}
            </button>
          )}
        </span>
      </div>
      <SaveResult row={row} save={save} actions={actions} />
    </>
  );
}

type EditProperties = Pick<ColumnProperties, "row" | "save" | "actions">;

/** The error or conflict of the last save, if any. */
function SaveResult({ row, save, actions }: EditProperties) {
  if (save === undefined || save.state === "saving") return null;
  if (save.state === "failed") {
    return (
      <div className="error-message" role="alert">
        <p>{save.message}</p>
        <h3>{texts.description.conflict.mine}</h3>
        <Markdown text={save.text} />
        <div className="editor-actions">
          <button type="button" onClick={() => actions.onSave(row.path, save)}>
            {texts.errors.retry}
          </button>
          <button type="button" className="dangerous" onClick={() => actions.onDiscard(row.path)}>
            {texts.columns.discard}
          </button>
        </div>
      </div>
    );
  }
  return (
    <div className="conflict" role="alert">
      <p>{texts.columns.conflict}</p>
      <SavedText saved={save.theirs} />
      <h3>{texts.description.conflict.mine}</h3>
      <Markdown text={save.text} />
      <div className="editor-actions">
        <button type="button" onClick={() => actions.onDiscard(row.path)}>
          {texts.columns.useTheirs}
        </button>
        <button
          type="button"
          className="dangerous"
          onClick={() => actions.onSave(row.path, { text: save.text, base: save.theirs.text })}
        >
          {texts.columns.overwrite}
        </button>
      </div>
    </div>
  );
}

/** The initial content of the editor: the text that could not be saved, else the saved description,
 *  else the imported one. An imported description is saved only if the user changes it. */
function initialDraft(row: ColumnRow, save: SaveState | undefined): Draft {
  if (save?.state === "failed") return save;
  if (save?.state === "conflict") return { text: save.text, base: save.theirs.text };
  return { text: row.edited === "" ? row.imported : row.edited, base: row.edited };
}

/** Edits a description in place. Tab saves and opens the next column; a click elsewhere saves too. */
function ColumnEditor({ row, save, actions }: EditProperties) {
  // Fixed at the start: data refreshed during the edit is not what the user saw.
  const [initial] = useState(() => initialDraft(row, save));
  const [text, setText] = useState(initial.text);
  const latest = useRef(text);
  const area = useRef<HTMLTextAreaElement>(null);
  const isDone = useRef(false);
  const hasChanged = () => latest.current !== initial.text;
  useUnsaved(() => !isDone.current && hasChanged());
  // A layout effect, because its cleanup runs before the field is removed.
  useLayoutEffect(() => {
    area.current?.focus();
    area.current?.select();
    return () => {
      // Removing the field blurs it, which must not save.
      isDone.current = true;
    };
  }, []);
  const finish = (target: FocusTarget) => {
    if (isDone.current) return;
    isDone.current = true;
    if (hasChanged()) actions.onSave(row.path, { text: latest.current, base: initial.base });
    actions.onClose(row.path, target);
  };
  return (
    <div className="column-editor">
      <textarea
        dir="auto"
        ref={area}
        rows={Math.min(8, Math.max(1, text.split("\n").length, Math.ceil(text.length / 60)))}
        aria-label={texts.columns.editorLabel(row.readable)}
        value={text}
        onChange={(event) => {
          latest.current = event.target.value;
          setText(event.target.value);
          actions.onChange(
            row.path,
            hasChanged() ? { text: latest.current, base: initial.base } : null,
          );
        }}
        onBlur={(event) => {
          // The window lost the focus, not the field: to a confirmation dialog, for example.
          if (document.activeElement !== event.currentTarget) finish("elsewhere");
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            if (hasChanged() && !confirmDiscard()) return;
            isDone.current = true;
            actions.onChange(row.path, null);
            actions.onClose(row.path, "here");
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
