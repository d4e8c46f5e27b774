import { useEffect, useLayoutEffect, useRef, useState } from "react";

import { cache } from "../api/cache.ts";
import { Failure, run } from "../api/client.ts";
import { Difference } from "../components/difference.tsx";
import { dropDraft, keepDraft, readDraft } from "../components/drafts.ts";
import { Editor } from "../components/editor.tsx";
import { useFocusKept } from "../components/focus.ts";
import { Markdown } from "../components/markdown.tsx";
import { Problem } from "../components/states.tsx";
import { mayDiscard, useUnsaved } from "../components/unsaved.ts";
import { UpdateDescriptionDocument } from "../generated/operations.ts";
import { texts } from "../texts.ts";
import { StoredText } from "./stored_text.tsx";
import { storedNow, type Stored } from "./stored.ts";

interface EditorProperties {
  readonly urn: string;
  /** The text that is stored, as far as this page knows. */
  readonly saved: string;
  /** A text to begin with when nothing is stored. */
  readonly suggested: string;
  /** The name under which the text is kept until it is saved; one that is there already is gone on with. */
  readonly draft: string;
  readonly onDone: () => void;
}

/** Writes a description. The server is told which text is meant to be replaced and refuses when another one is there: then
 *  both are shown, and the person decides. */
export function DescriptionEditor({ urn, saved, suggested, draft, onDone }: EditorProperties) {
  // What is read anew while somebody writes must not pass for what they saw when they began.
  const [kept] = useState(() => readDraft(draft));
  const [replaced, setReplaced] = useState(kept?.replaced ?? saved);
  const beginning = useRef(saved === "" ? suggested : saved);
  const [text, setText] = useState(kept?.mine ?? beginning.current);
  const newest = useRef(text);
  const [theirs, setTheirs] = useState<Stored | null>(null);
  const saving = useRef<Promise<void> | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [isBehind, setBehind] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const hasChanged = () => newest.current !== beginning.current;
  useUnsaved(hasChanged, { saving: () => saving.current ?? undefined, onDiscard: () => dropDraft(draft) });
  // Whoever has closed it may have opened another one since, which is none of its business.
  const isClosed = useRef(false);
  useLayoutEffect(() => () => void (isClosed.current = true), []);
  const finish = () => {
    if (isClosed.current) return;
    isClosed.current = true;
    dropDraft(draft);
    onDone();
  };
  const root = useRef<HTMLDivElement>(null);
  // Whoever has decided about a conflict goes on in the editor.
  useFocusKept(root, () => root.current?.querySelector<HTMLElement>(".editor [contenteditable], textarea.editor"));

  const write = async (sent: string, previous: string) => {
    try {
      await run(UpdateDescriptionDocument, {
        input: { resourceUrn: urn, description: sent, previousDescription: previous },
      });
    } catch (problem) {
      if (!(problem instanceof Failure && problem.code === 409)) throw problem;
      const stored = await storedNow(urn);
      // The same text is no conflict: it arrived before, and only the answer was lost.
      if (stored.text !== sent) {
        setTheirs(stored);
        return;
      }
    }
    setReplaced(sent);
    beginning.current = sent;
    await cache.invalidateQueries();
    if (newest.current === sent) finish();
    if (isClosed.current) return;
    // Whoever went on typing meanwhile is not finished.
    keepDraft(draft, { mine: newest.current, replaced: sent });
    setBehind(true);
  };
  const save = (previous: string) => {
    if (saving.current !== null) return;
    setBusy(true);
    setBehind(false);
    setError(null);
    saving.current = write(newest.current, previous)
      .catch(setError)
      .finally(() => {
        saving.current = null;
        setBusy(false);
      });
  };
  const leave = () => {
    if (!hasChanged() || mayDiscard()) finish();
  };
  const goOnFrom = (stored: Stored) => {
    setReplaced(stored.text);
    setTheirs(null);
  };

  return (
    <div className="writing" ref={root}>
      {theirs !== null && (
        <Conflict
          mine={text}
          theirs={theirs}
          onMine={() => {
            goOnFrom(theirs);
            save(theirs.text);
          }}
          onTheirs={() => void cache.invalidateQueries().then(finish)}
          onGoOn={() => goOnFrom(theirs)}
        />
      )}
      {kept !== null && (
        <p className="notice" role="status">
          {texts.description.draft}
        </p>
      )}
      <div className="writing-panes">
        <Editor
          value={text}
          label={texts.description.editor}
          onChange={(typed) => {
            newest.current = typed;
            setText(typed);
            if (hasChanged()) keepDraft(draft, { mine: typed, replaced });
            else dropDraft(draft);
          }}
          onSave={() => save(replaced)}
          onLeave={leave}
        />
        <div className="preview" aria-label={texts.description.preview} role="region">
          {text.trim() === "" ? <p className="hint">{texts.description.previewEmpty}</p> : <Markdown text={text} />}
        </div>
      </div>
      {error !== null && <Problem error={error} />}
      <div className="writing-feet">
        <button type="button" className="primary" disabled={isBusy || theirs !== null} onClick={() => save(replaced)}>
          {isBusy ? texts.description.saving : texts.description.save}
        </button>
        <button type="button" onClick={leave}>
          {texts.description.cancel}
        </button>
        <span className="hint wide-only">{texts.description.savingHint}</span>
        {isBehind && <span role="status">{texts.description.savedBefore}</span>}
      </div>
    </div>
  );
}

const SETTLING_MS = 400;

interface ConflictProperties {
  readonly mine: string;
  readonly theirs: Stored;
  readonly onMine: () => void;
  readonly onTheirs: () => void;
  readonly onGoOn: () => void;
}

/** What is typed, once the typing pauses: both texts beside each other are too much work for every key. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), SETTLING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

function Conflict({ mine, theirs, onMine, onTheirs, onGoOn }: ConflictProperties) {
  const words = texts.description.conflict;
  const settled = useSettled(mine);
  return (
    <div className="conflict" role="alert">
      <h3>{words.title}</h3>
      <p>{words.body}</p>
      <div className="conflict-texts">
        <section>
          <h4>{words.theirs}</h4>
          <StoredText stored={theirs} />
        </section>
        <section>
          <h4>{words.mine}</h4>
          <Markdown text={settled} />
        </section>
      </div>
      <h4>{words.difference}</h4>
      <Difference before={theirs.text} after={settled} />
      <div className="writing-feet">
        <button type="button" onClick={onGoOn}>
          {words.goOn}
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
