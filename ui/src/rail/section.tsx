import { useRef, useState, type ReactNode } from "react";

import { useFocusFallback } from "../components/focus.ts";
import { ErrorMessage } from "../components/states.tsx";
import { texts } from "../texts.ts";

interface RailSectionProperties {
  readonly id: string;
  readonly heading: string;
  /** What adds an entry, if the user may. */
  readonly add?: { readonly label: string; readonly onClick: () => void } | undefined;
  readonly children: ReactNode;
}

/** One subject of the rail. */
export function RailSection({ id, heading, add, children }: RailSectionProperties) {
  const section = useRef<HTMLElement>(null);
  // The entry that had the focus may be removed.
  useFocusFallback(section, () => section.current?.querySelector("button"));
  return (
    <section className="rail-section" aria-labelledby={id} ref={section}>
      <div className="rail-heading">
        <h2 id={id}>{heading}</h2>
        {add !== undefined && (
          <button
            type="button"
            className="icon-button"
            aria-label={add.label}
            onClick={add.onClick}
          >
            +
          </button>
        )}
      </div>
      {children}
    </section>
  );
}

interface Change {
  readonly text: string;
  readonly undo: () => void;
}

/** The last change of a section, with a button that reverts it. */
export function useUndo() {
  const [last, setLast] = useState<Change | null>(null);
  return { last, report: (text: string, undo: () => void) => setLast({ text, undo }) };
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
              {texts.rail.undo}
            </button>
          </p>
        )}
      </div>
      {error !== null && <ErrorMessage error={error} />}
    </>
  );
}
