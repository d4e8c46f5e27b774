import { useMemo } from "react";

import { texts } from "../texts.ts";
import { wordDiff } from "./word_diff.ts";

/** Shows the changes between two texts. The labels for screen readers come from the style sheet, so
 *  that they are not copied with the text. */
export function TextDiff({ before, after }: { readonly before: string; readonly after: string }) {
  const parts = useMemo(() => wordDiff(before, after), [before, after]);
  return (
    <p className="text-diff">
      {parts.map((part, index) => {
        if (part.kind === "added") {
          return (
            <ins key={index} data-announce={texts.history.addedWords}>
              {part.text}
            </ins>
          );
        }
        if (part.kind === "removed") {
          return (
            <del key={index} data-announce={texts.history.removedWords}>
              {part.text}
            </del>
          );
        }
        return <span key={index}>{part.text}</span>;
      })}
    </p>
  );
}
