import { useMemo } from "react";

import { texts } from "../texts.ts";
import { wordDiff } from "./word_diff.ts";

/** Two texts as one, with what was taken away and what was added. Readers of screens hear which is which from the style sheet:
 *  words that nobody sees would be copied along. */
export function Difference({ before, after }: { readonly before: string; readonly after: string }) {
  const pieces = useMemo(() => wordDiff(before, after), [before, after]);
  return (
    <p className="difference">
      {pieces.map((piece, index) => {
        if (piece.kind === "added") {
          return (
            <ins key={index} data-said={texts.history.added}>
              {piece.text}
            </ins>
          );
        }
        if (piece.kind === "removed") {
          return (
            <del key={index} data-said={texts.history.removedWords}>
              {piece.text}
            </del>
          );
        }
        return <span key={index}>{piece.text}</span>;
      })}
    </p>
  );
}
