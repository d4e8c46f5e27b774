import type { ReactNode } from "react";

import { texts } from "../texts.ts";
import { Dialog } from "./dialog.tsx";
import { focusOnMount } from "./focus.ts";
import { FormattedText } from "./formatted_text.tsx";
import { ErrorMessage } from "./states.tsx";

interface MoveConfirmationProperties {
  readonly title: string;
  /** The sentence with the `{destination}`. */
  readonly text: string;
  readonly destination: string;
  /** What the move affects. */
  readonly hint: ReactNode;
  readonly button: string;
  /** Whether it is there already. */
  readonly isSame: boolean;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly onMove: () => void;
  readonly onClose: () => void;
}

/** Asks before an entity of a hierarchy moves, with what that affects. */
export function MoveConfirmation(properties: MoveConfirmationProperties) {
  const { title, text, destination, hint, button, isSame, isBusy, error, onMove, onClose } =
    properties;
  return (
    <Dialog title={title} isOpen onClose={onClose}>
      <p>
        <FormattedText text={text} values={{ destination: <strong>{destination}</strong> }} />
      </p>
      <p className="hint">{hint}</p>
      {error !== null && <ErrorMessage error={error} />}
      <div className="dialog-actions">
        <button type="button" ref={isSame ? focusOnMount : undefined} onClick={onClose}>
          {texts.common.cancel}
        </button>
        <button
          type="button"
          className="primary"
          ref={isSame ? undefined : focusOnMount}
          disabled={isSame || isBusy}
          onClick={onMove}
        >
          {button}
        </button>
      </div>
    </Dialog>
  );
}
