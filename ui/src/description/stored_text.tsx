import { Markdown } from "../components/markdown.tsx";
import { nameOf } from "../names.ts";
import { texts } from "../texts.ts";
import { agoOf, momentOf } from "../time.ts";
import type { Stored } from "./stored.ts";

/** What somebody else has stored meanwhile, with who and when. */
export function StoredText({ stored }: { readonly stored: Stored }) {
  const { text, by } = stored;
  return (
    <>
      {text === "" ? <p className="hint">{texts.history.emptied}</p> : <Markdown text={text} />}
      {by !== undefined && (
        <p className="source" title={momentOf(by.time)}>
          {texts.description.conflict.by(nameOf(by.actor), agoOf(by.time))}
        </p>
      )}
    </>
  );
}
