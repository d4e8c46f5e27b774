import { useState } from "react";

import { cache } from "../api/cache.ts";
import { Failure, run } from "../api/client.ts";
import { Difference } from "../components/difference.tsx";
import { Editor } from "../components/editor.tsx";
import { Markdown } from "../components/markdown.tsx";
import { Problem } from "../components/states.tsx";
import { useUnsaved } from "../components/unsaved.ts";
import { HistoryTextDocument, UpdateDescriptionDocument } from "../generated/operations.ts";
import { texts } from "../texts.ts";

interface EditorProperties {
  readonly urn: string;
  /** The text that is stored, as far as this page knows. */
  readonly saved: string;
  /** A text to begin with when nothing is stored. */
  readonly suggested: string;
  readonly onDone: () => void;
}

/** Writes a description. The server is told which text is meant to be replaced and refuses when another one is there: then
 *  both are shown, and the person decides. */
export function DescriptionEditor({ urn, saved, suggested, onDone }: EditorProperties) {
  const beginning = saved === "" ? suggested : saved;
  const [text, setText] = useState(beginning);
  const [replaced, setReplaced] = useState(saved);
  const [theirs, setTheirs] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const hasChanged = text !== beginning;
  useUnsaved(hasChanged);

  const finish = async () => {
    await cache.invalidateQueries();
    onDone();
  };
  const save = async (previous: string) => {
    if (isBusy) return;
    setBusy(true);
    setError(null);
    try {
      await run(UpdateDescriptionDocument, {
        input: { resourceUrn: urn, description: text, previousDescription: previous },
      });
      await finish();
    } catch (problem) {
      if (problem instanceof Failure && problem.code === 409) setTheirs(await storedText(urn));
      else setError(problem as Error);
      setBusy(false);
    }
  };
  const leave = () => {
    if (!hasChanged || window.confirm(texts.description.discard)) onDone();
  };

  return (
    <div className="writing">
      {theirs !== null && (
        <Conflict
          mine={text}
          theirs={theirs}
          onMine={() => {
            setReplaced(theirs);
            setTheirs(null);
            void save(theirs);
          }}
          onTheirs={() => void finish()}
          onGoOn={() => {
            setReplaced(theirs);
            setTheirs(null);
          }}
        />
      )}
      <div className="writing-panes">
        <Editor
          value={text}
          label={texts.description.editor}
          onChange={setText}
          onSave={() => void save(replaced)}
          onLeave={leave}
        />
        <div className="preview" aria-label={texts.description.preview} role="region">
          {text.trim() === "" ? <p className="hint">{texts.description.previewEmpty}</p> : <Markdown text={text} />}
        </div>
      </div>
      {error !== null && <Problem error={error} />}
      <div className="writing-feet">
        <button
          type="button"
          className="primary"
          disabled={isBusy || theirs !== null}
          onClick={() => void save(replaced)}
        >
          {isBusy ? texts.description.saving : texts.description.save}
        </button>
        <button type="button" onClick={leave}>
          {texts.description.cancel}
        </button>
        <span className="hint wide-only">{texts.description.savingHint}</span>
      </div>
    </div>
  );
}

/** What is stored now. */
async function storedText(urn: string): Promise<string> {
  const found = await run(HistoryTextDocument, { urn });
  return found.history.changes[0]?.text ?? "";
}

interface ConflictProperties {
  readonly mine: string;
  readonly theirs: string;
  readonly onMine: () => void;
  readonly onTheirs: () => void;
  readonly onGoOn: () => void;
}

function Conflict({ mine, theirs, onMine, onTheirs, onGoOn }: ConflictProperties) {
  const words = texts.description.conflict;
  return (
    <div className="conflict" role="alert">
      <h3>{words.title}</h3>
      <p>{words.body}</p>
      <div className="conflict-texts">
        <section>
          <h4>{words.theirs}</h4>
          <Markdown text={theirs} />
        </section>
        <section>
          <h4>{words.mine}</h4>
          <Markdown text={mine} />
        </section>
      </div>
      <h4>{words.difference}</h4>
      <Difference before={theirs} after={mine} />
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
