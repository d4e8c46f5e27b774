import { memo, useLayoutEffect, useRef, useState, type MouseEvent } from "react";

import * as addresses from "../addresses.ts";
import { useSessionExpired } from "../api/session.ts";
import type { Draft } from "../components/drafts.ts";
import { Markdown } from "../components/markdown.tsx";
import { confirmDiscard, isAskingToDiscard } from "../components/discard_question.ts";
import { useUnsaved } from "../components/unsaved.ts";
import { SavedText } from "../description/saved_text.tsx";
import { Icon } from "../icons/icon.tsx";
import { sentence } from "../text_forms.ts";
import { wordsFor, type Right } from "../privileges.ts";
import { proposingTexts } from "../proposing_texts.ts";
import { texts } from "../texts.ts";
import { ColumnLabels, ColumnShares, type ColumnDetail } from "../trust/column_details.tsx";
import { columnName } from "./field_path.ts";
import type { ColumnRow } from "./column_rows.ts";
import type { SaveState } from "./column_saves.ts";

/** Where the focus goes when the editor of a column closes. */
export type FocusTarget = "next" | "previous" | "here" | "elsewhere";

export interface ColumnActions {
  readonly onEdit: (path: string) => void;
  /** Opens the tags and terms of a column. */
  readonly onLabel: (path: string) => void;
  readonly onToggle: (path: string) => void;
  /** Called with the draft, or `null` when the text is unchanged. */
  readonly onChange: (path: string, draft: Draft | null) => void;
  readonly onSave: (path: string, draft: Draft) => void;
  readonly onClose: (path: string, target: FocusTarget) => void;
  readonly onDiscard: (path: string) => void;
  /** Follows a link. Its own component in every row would make scrolling slow. */
  readonly onFollow: (event: MouseEvent<HTMLAnchorElement>) => void;
}

interface ColumnProperties {
  readonly urn: string;
  readonly row: ColumnRow;
  readonly detail: ColumnDetail | undefined;
  readonly isEditing: boolean;
  readonly isCollapsed: boolean;
  readonly right: Right;
  readonly canLabel: boolean;
  /** What to say about pending proposals. */
  readonly pending: string | undefined;
  readonly save: SaveState | undefined;
  readonly actions: ColumnActions;
}

/** The cells of one column: name, type and description. */
export const ColumnCells = memo(function ColumnCells(properties: ColumnProperties) {
  const { row, isCollapsed, isEditing, save, actions } = properties;
  const canEdit = properties.right !== "none";
  const isEmpty = row.edited === "" && row.imported === "" && !isEditing && save === undefined;
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
            <Icon name={isCollapsed ? "right" : "down"} />
          </button>
        )}
        <code title={row.readable}>{row.name}</code>
        {row.isKey && (
          <span className="key" title={texts.columns.keyHint}>
            {texts.columns.key}
          </span>
        )}
      </div>
      <div role="cell" className="column-type">
        <ColumnType row={row} />
        <ColumnShares detail={properties.detail} />
      </div>
      <div
        role="cell"
        className="column-text"
        data-empty={canEdit && isEmpty ? "" : undefined}
        // The button in it does the same for the keyboard.
        onClick={(event) => {
          if (!canEdit || !isEmpty || !(event.target instanceof Element)) return;
          if (event.target.closest("button, a") === null) actions.onEdit(row.path);
        }}
      >
        <ColumnDescription {...properties} />
        <ColumnLabels detail={properties.detail} onFollow={actions.onFollow} />
      </div>
    </>
  );
});

/** Longer types, such as those of nested columns, are clipped. */
const MAX_TYPE_LENGTH = 36;

/** The type of a column. */
function ColumnType({ row }: { readonly row: ColumnRow }) {
  const type = row.isNullable ? `${row.type}?` : row.type;
  if (type.length > MAX_TYPE_LENGTH) return <LongType type={type} />;
  return <span title={row.isNullable ? texts.columns.nullable : undefined}>{type}</span>;
}

/** A clipped type; a click shows all of it. */
function LongType({ type }: { readonly type: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <button
      type="button"
      className={isOpen ? "long-type" : "long-type clipped"}
      aria-expanded={isOpen}
      title={type}
      onClick={() => setOpen(!isOpen)}
    >
      {type}
    </button>
  );
}

const COLUMN_WORDS = { ...texts.columns, edit: texts.description.edit };

function ColumnDescription(properties: ColumnProperties) {
  const { urn, row, isEditing, right, canLabel, pending, save, actions } = properties;
  const words = wordsFor(right, COLUMN_WORDS, proposingTexts.columns);
  if (isEditing) return <ColumnEditor row={row} save={save} actions={actions} hint={words.hint} />;
  const canEdit = right !== "none";
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
        <span className={hasNone ? "column-actions column-actions-empty" : "column-actions"}>
          {row.edited !== "" && (
            <a
              className="icon-button button row-icon-history"
              href={addresses.history(addresses.dataset(urn), row.path)}
              aria-label={texts.columns.historyLabel(row.readable)}
              data-tooltip={texts.columns.history}
              onClick={actions.onFollow}
            />
          )}
          <a
            className="icon-button button row-icon-elsewhere"
            href={addresses.columnGrid(columnName(row.path))}
            aria-label={texts.columns.elsewhereLabel(row.readable)}
            data-tooltip={texts.columns.elsewhere}
            onClick={actions.onFollow}
          />
          {canLabel && (
            <button
              type="button"
              className="icon-button row-icon-label"
              aria-label={texts.columns.labelsLabel(row.readable)}
              data-tooltip={texts.columns.labels}
              onClick={() => actions.onLabel(row.path)}
            />
          )}
          {canEdit && hasNone && (
            <button
              type="button"
              className="add-text"
              data-edit-button
              aria-label={words.addLabel(row.readable)}
              onClick={() => actions.onEdit(row.path)}
            >
              {words.add}
            </button>
          )}
          {canEdit && !hasNone && (
            <button
              type="button"
              className="icon-button row-icon-edit"
              data-edit-button
              aria-label={words.editLabel(row.readable)}
              data-tooltip={words.edit}
              onClick={() => actions.onEdit(row.path)}
            />
          )}
        </span>
      </div>
      {pending !== undefined && (
        <a
          className="pending-mark"
          href={addresses.proposals({ entity: urn })}
          onClick={actions.onFollow}
        >
          {pending}
        </a>
      )}
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
        <FailureMessage message={save.message} />
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

/** Why a save failed. An expired session is no reason any more once the user has signed in again. */
function FailureMessage({ message }: { readonly message: string }) {
  const isExpired = useSessionExpired();
  const isOver = message === texts.errors.sessionExpired && !isExpired;
  return <p>{isOver ? texts.columns.notSavedYet : sentence(message)}</p>;
}

/** The initial content of the editor: the text that could not be saved, else the saved description,
 *  else the imported one. An imported description is saved only if the user changes it. */
function initialDraft(row: ColumnRow, save: SaveState | undefined): Draft {
  if (save?.state === "failed") return save;
  if (save?.state === "conflict") return { text: save.text, base: save.theirs.text };
  return { text: row.edited === "" ? row.imported : row.edited, base: row.edited };
}

/** Edits a description in place. Tab saves and opens the next column; a click elsewhere saves too. */
function ColumnEditor({ row, save, actions, hint }: EditProperties & { readonly hint: string }) {
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
  const cancel = async () => {
    if (hasChanged() && !(await confirmDiscard())) return;
    isDone.current = true;
    actions.onChange(row.path, null);
    actions.onClose(row.path, "here");
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
          // The focus may go to another window, or to the question whether to discard the text.
          if (document.activeElement !== event.currentTarget && !isAskingToDiscard())
            finish("elsewhere");
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            void cancel();
          } else if (event.key === "Tab") {
            event.preventDefault();
            finish(event.shiftKey ? "previous" : "next");
          } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            finish("here");
          }
        }}
      />
      <span className="hint">{hint}</span>
    </div>
  );
}
