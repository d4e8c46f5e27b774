import { Markdown } from "../components/markdown.tsx";
import { nameOf } from "../names.ts";
import { texts } from "../texts.ts";
import { formatRelative, formatDateTime } from "../time.ts";
import type { SavedDescription } from "./saved_description.ts";

/** A description saved by someone else, with author and time. */
export function SavedText({ saved }: { readonly saved: SavedDescription }) {
  const { text, by } = saved;
  return (
    <>
      {text === "" ? <p className="hint">{texts.history.emptied}</p> : <Markdown text={text} />}
      {by !== undefined && (
        <p className="source" title={formatDateTime(by.time)}>
          {texts.description.conflict.by(nameOf(by.actor), formatRelative(by.time))}
        </p>
      )}
    </>
  );
}
