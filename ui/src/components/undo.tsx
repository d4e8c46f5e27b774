import { useState } from "react";

import { texts } from "../texts.ts";
import { ErrorMessage } from "./states.tsx";

interface Change {
  readonly text: string;
  readonly undo: () => void;
}

/** The last change in a part of the page, with a button that reverts it. */
export function useUndo() {
  const [last, setLast] = useState<Change | null>(null);
  return {
    last,
    report: (text: string, undo: () => void) => setLast({ text, undo }),
    clear: () => setLast(null),
  };
}

export function UndoNotice({
  last,
  isBusy,
  error,
}: {
  readonly last: Change | null;
  readonly isBusy: boolean;
  readonly error: Error | null;
}) {
  return (
    <>
      <div role="status">
        {last !== null && (
          <p className="hint">
            {last.text}{" "}
            <button type="button" className="subtle" disabled={isBusy} onClick={last.undo}>
              {texts.common.undo}
            </button>
          </p>
        )}
      </div>
      {error !== null && <ErrorMessage error={error} />}
    </>
  );
}
