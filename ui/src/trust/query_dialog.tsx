import { useState, type FormEvent } from "react";

import { Dialog } from "../components/dialog.tsx";
import { focusOnMount } from "../components/focus.ts";
import { ErrorMessage } from "../components/states.tsx";
import type { QueryEntryFragment } from "../generated/operations.ts";
import { texts } from "../texts.ts";
import { trustTexts } from "../trust_texts.ts";

const words = trustTexts.queries;

export interface QueryInput {
  readonly name: string;
  readonly description: string;
  readonly statement: string;
}

/** A form for a new query, or for one that exists. */
export function QueryDialog({
  query,
  isBusy,
  error,
  onSave,
  onClose,
}: {
  readonly query?: QueryEntryFragment;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly onSave: (input: QueryInput) => void;
  readonly onClose: () => void;
}) {
  const [isMissing, setMissing] = useState(false);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const field = (name: string) => String(form.get(name)).trim();
    const statement = field("statement");
    setMissing(statement === "");
    if (statement !== "")
      onSave({ name: field("name"), description: field("description"), statement });
    else event.currentTarget.querySelector<HTMLElement>("[name=statement]")?.focus();
  };
  return (
    <Dialog
      title={query === undefined ? words.addTitle : words.editTitle}
      isOpen
      isWide
      onClose={onClose}
    >
      <form className="trust-form" noValidate onSubmit={submit}>
        <label>
          {words.name}
          <input
            name="name"
            dir="auto"
            ref={focusOnMount}
            defaultValue={query?.properties?.name ?? ""}
          />
        </label>
        <label>
          {words.description}
          <textarea
            name="description"
            rows={2}
            dir="auto"
            defaultValue={query?.properties?.description ?? ""}
          />
        </label>
        <label>
          {words.statement}
          <textarea
            name="statement"
            className="sql-input"
            rows={10}
            spellCheck={false}
            aria-invalid={isMissing}
            aria-describedby="statement-error"
            defaultValue={query?.properties?.statement.value ?? ""}
          />
          <span id="statement-error" className="field-error" role="alert">
            {isMissing && words.statementMissing}
          </span>
        </label>
        {error !== null && <ErrorMessage error={error} />}
        <div className="dialog-actions">
          <button type="button" onClick={onClose}>
            {texts.common.cancel}
          </button>
          <button type="submit" className="primary" disabled={isBusy}>
            {words.save}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
