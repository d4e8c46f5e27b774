import { useEffect, useLayoutEffect, useRef, useState } from "react";

import { refreshAll } from "../api/cache.ts";
import { ApiError, runOrPropose } from "../api/client.ts";
import { TextDiff } from "../components/text_diff.tsx";
import { deleteDraft, saveDraft, readDraft } from "../components/drafts.ts";
import { Editor } from "../components/editor.tsx";
import { useFocusFallback } from "../components/focus.ts";
import { Markdown } from "../components/markdown.tsx";
import { ErrorMessage } from "../components/states.tsx";
import { confirmDiscard } from "../components/discard_question.ts";
import { useUnsaved } from "../components/unsaved.ts";
import { UpdateDescriptionDocument } from "../generated/operations.ts";
import { wordsFor, type Right } from "../privileges.ts";
import { proposingTexts } from "../proposing_texts.ts";
import { texts } from "../texts.ts";
import { SavedText } from "./saved_text.tsx";
import { fetchSavedDescription, type SavedDescription } from "./saved_description.ts";

interface EditorProperties {
  readonly urn: string;
  /** The saved text, as last loaded. */
  readonly saved: string;
  /** The initial text when nothing is saved. */
  readonly suggested: string;
  /** The storage key of the draft. An existing draft is restored. */
  readonly draft: string;
  readonly right: Right;
  readonly onDone: () => void;
}

/** Edits a description. Sends the text it is based on, so that the server rejects the save if
 *  someone else changed it. Then both versions are shown, and the user decides. */
export function DescriptionEditor({
  urn,
  saved,
  suggested,
  draft,
  right,
  onDone,
}: EditorProperties) {
  const words = wordsFor(right, texts.description, proposingTexts.description);
  // Fixed at the start: data refreshed during the edit is not what the user saw.
  const [restored] = useState(() => readDraft(draft));
  const [base, setBase] = useState(restored?.base ?? saved);
  const initial = useRef(saved === "" ? suggested : saved);
  const [text, setText] = useState(restored?.text ?? initial.current);
  const latest = useRef(text);
  const [theirs, setTheirs] = useState<SavedDescription | null>(null);
  const saving = useRef<Promise<void> | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [hasNewerEdits, setNewerEdits] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const hasChanged = () => latest.current !== initial.current;
  const root = useRef<HTMLDivElement>(null);
  const field = () =>
    root.current?.querySelector<HTMLElement>(".editor [contenteditable], textarea.editor");
  useUnsaved(hasChanged, {
    saving: () => saving.current ?? undefined,
    onDiscard: () => deleteDraft(draft),
    onKeep: () => field()?.focus(),
  });
  // A save that finishes after the editor was closed must not touch the next editor.
  const isClosed = useRef(false);
  useLayoutEffect(() => () => void (isClosed.current = true), []);
  const finish = () => {
    if (isClosed.current) return;
    isClosed.current = true;
    deleteDraft(draft);
    onDone();
  };
  // Resolving a conflict moves the focus to the editor.
  useFocusFallback(root, field);

  const write = async (sent: string, previous: string) => {
    let isProposed = false;
    try {
      isProposed = await runOrPropose(UpdateDescriptionDocument, {
        input: { resourceUrn: urn, description: sent, previousDescription: previous },
      });
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 409)) throw error;
      const stored = await fetchSavedDescription(urn);
      // The same text is no conflict: an earlier attempt was saved and only its response was lost.
      if (stored.text !== sent) {
        setTheirs(stored);
        return;
      }
    }
    const stored = isProposed ? previous : sent;
    setBase(stored);
    initial.current = sent;
    await refreshAll();
    if (latest.current === sent) finish();
    if (isClosed.current) return;
    // The user has typed more during the save.
    saveDraft(draft, { text: latest.current, base: stored });
    setNewerEdits(!isProposed);
  };
  const save = (previous: string) => {
    if (saving.current !== null) return;
    setBusy(true);
    setNewerEdits(false);
    setError(null);
    saving.current = write(latest.current, previous)
      .catch(setError)
      .finally(() => {
        saving.current = null;
        setBusy(false);
      });
  };
  const cancel = async () => {
    if (!hasChanged() || (await confirmDiscard())) finish();
  };
  const rebaseOn = (stored: SavedDescription) => {
    setBase(stored.text);
    setTheirs(null);
  };

  return (
    <div className="description-editor" ref={root}>
      {theirs !== null && (
        <Conflict
          mine={text}
          theirs={theirs}
          onMine={() => {
            rebaseOn(theirs);
            save(theirs.text);
          }}
          onTheirs={() => void refreshAll().then(finish)}
          onKeepEditing={() => rebaseOn(theirs)}
        />
      )}
      {restored !== null && (
        <p className="notice" role="status">
          {texts.description.draft}
        </p>
      )}
      <div className="editor-panes">
        <Editor
          value={text}
          label={texts.description.editor}
          onChange={(typed) => {
            latest.current = typed;
            setText(typed);
            if (hasChanged()) saveDraft(draft, { text: typed, base });
            else deleteDraft(draft);
          }}
          onSave={() => save(base)}
          onCancel={() => void cancel()}
        />
        <div className="preview" aria-label={texts.description.preview} role="region">
          {text.trim() === "" ? (
            <p className="hint">{texts.description.previewEmpty}</p>
          ) : (
            <Markdown text={text} />
          )}
        </div>
      </div>
      {error !== null && <ErrorMessage error={error} />}
      <div className="editor-actions">
        <button
          type="button"
          className="primary"
          disabled={isBusy || theirs !== null}
          onClick={() => save(base)}
        >
          {isBusy ? words.saving : words.save}
        </button>
        <button type="button" onClick={() => void cancel()}>
          {texts.description.cancel}
        </button>
        <span className="hint wide-only">{words.shortcuts}</span>
        {hasNewerEdits && <span role="status">{texts.description.newerEdits}</span>}
      </div>
    </div>
  );
}

const DEBOUNCE_MS = 400;

interface ConflictProperties {
  readonly mine: string;
  readonly theirs: SavedDescription;
  readonly onMine: () => void;
  readonly onTheirs: () => void;
  readonly onKeepEditing: () => void;
}

/** The text after a pause in typing, because the diff is too costly for every keystroke. */
function useDebounced(text: string): string {
  const [debounced, setDebounced] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(text), DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return debounced;
}

function Conflict({ mine, theirs, onMine, onTheirs, onKeepEditing }: ConflictProperties) {
  const words = texts.description.conflict;
  const debounced = useDebounced(mine);
  return (
    <div className="conflict" role="alert">
      <h3>{words.title}</h3>
      <p>{words.body}</p>
      <div className="conflict-texts">
        <section>
          <h4>{words.theirs}</h4>
          <SavedText saved={theirs} />
        </section>
        <section>
          <h4>{words.mine}</h4>
          <Markdown text={debounced} />
        </section>
      </div>
      <h4>{words.difference}</h4>
      <TextDiff before={theirs.text} after={debounced} />
      <div className="editor-actions">
        <button type="button" onClick={onKeepEditing}>
          {words.keepEditing}
        </button>
        <button type="button" onClick={onTheirs}>
          {words.useTheirs}
        </button>
        <button type="button" className="dangerous" onClick={onMine}>
          {words.useMine}
        </button>
      </div>
    </div>
  );
}
