import { useState } from "react";

import { Dialog } from "../components/dialog.tsx";
import { focusOnMount } from "../components/focus.ts";
import { ErrorMessage } from "../components/states.tsx";
import { FieldProblem, useValidation } from "../components/validation.tsx";
import { texts } from "../texts.ts";

interface NameDialogProperties {
  readonly title: string;
  readonly hint?: string | undefined;
  readonly initial: string;
  readonly error: Error | null;
  readonly isBusy: boolean;
  readonly onClose: () => void;
  readonly onName: (name: string) => void;
}

/** Asks for the name of a saved search. */
export function NameDialog(properties: NameDialogProperties) {
  const { title, hint, initial, error, isBusy, onClose, onName } = properties;
  const [name, setName] = useState(initial);
  const { check, problemOf, attributesOf } = useValidation();
  return (
    <Dialog title={title} isOpen onClose={onClose}>
      <form
        className="form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (check(event.currentTarget)) onName(name.trim());
        }}
      >
        <label>
          {texts.saved.name}
          <input
            name="name"
            required
            {...attributesOf("name")}
            dir="auto"
            value={name}
            ref={focusOnMount}
            onChange={(event) => setName(event.target.value)}
          />
        </label>
        <FieldProblem name="name" text={problemOf("name")} />
        {hint !== undefined && <p className="hint">{hint}</p>}
        {error !== null && <ErrorMessage error={error} />}
        <div className="dialog-actions">
          <button type="button" onClick={onClose}>
            {texts.common.cancel}
          </button>
          <button type="submit" className="primary" disabled={isBusy}>
            {texts.saved.confirm}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
