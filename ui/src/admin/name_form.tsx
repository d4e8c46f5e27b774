import { useState, type FormEvent } from "react";

import { focusOnMount } from "../components/focus.ts";
import { ErrorMessage } from "../components/states.tsx";
import { adminTexts } from "../admin_texts.ts";

interface NameFormProperties {
  readonly name: string;
  readonly description: string;
  readonly button: string;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly onSubmit: (name: string, description: string) => void;
  readonly onClose: () => void;
}

/** The form of what has a name and a description, such as a group. */
export function NameForm({
  name,
  description,
  button,
  isBusy,
  error,
  onSubmit,
  onClose,
}: NameFormProperties) {
  const words = adminTexts.names;
  const [problem, setProblem] = useState<string | null>(null);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const typed = String(form.get("name")).trim();
    setProblem(typed === "" ? words.nameMissing : null);
    if (typed !== "") onSubmit(typed, String(form.get("description")).trim());
  };
  return (
    <form className="form" onSubmit={submit} noValidate>
      <label>
        {words.name}
        <input
          name="name"
          dir="auto"
          defaultValue={name}
          ref={focusOnMount}
          aria-invalid={problem !== null}
        />
        <span className="field-error" role="alert">
          {problem}
        </span>
      </label>
      <label>
        {words.description}
        <textarea name="description" dir="auto" rows={3} defaultValue={description} />
      </label>
      {error !== null && <ErrorMessage error={error} />}
      <div className="dialog-actions">
        <button type="button" onClick={onClose}>
          {adminTexts.cancel}
        </button>
        <button type="submit" className="primary" disabled={isBusy}>
          {button}
        </button>
      </div>
    </form>
  );
}
