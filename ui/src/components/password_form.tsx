import { Fragment, useState, type FormEvent } from "react";

import { sentence } from "../text_forms.ts";
import { accountTexts } from "../account_texts.ts";
import { texts } from "../texts.ts";
import { focusOnMount } from "./focus.ts";
import { FieldProblem, useValidation } from "./validation.tsx";

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly type?: "text" | "email" | "password";
  readonly autoComplete: string;
}

/** The fields for a new password, typed twice. */
export const NEW_PASSWORD: readonly Field[] = [
  { name: "password", label: accountTexts.new, type: "password", autoComplete: "new-password" },
  { name: "repeat", label: accountTexts.repeat, type: "password", autoComplete: "new-password" },
];

interface Properties {
  readonly fields: readonly Field[];
  readonly submit: string;
  readonly onSubmit: (values: Readonly<Record<string, string>>) => Promise<void>;
}

/** A form that ends with a new password. Shows what the server says about it. */
export function PasswordForm({ fields, submit, onSubmit }: Properties) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const { check, problemOf, attributesOf } = useValidation();
  const save = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    if (!check(form)) return;
    const values = Object.fromEntries(
      [...new FormData(form)].map(([name, value]) => [name, String(value)]),
    );
    if (values["password"] !== values["repeat"]) {
      setError(accountTexts.different);
      return;
    }
    setBusy(true);
    setError(null);
    try {
      await onSubmit(values);
      form.reset();
    } catch (caught) {
      setError(caught instanceof Error ? sentence(caught.message) : texts.signIn.unreachable);
    }
    setBusy(false);
  };
  return (
    <form className="form" noValidate onSubmit={(event) => void save(event)}>
      {fields.map((field, index) => (
        <Fragment key={field.name}>
          <label>
            {field.label}
            <input
              name={field.name}
              type={field.type ?? "text"}
              autoComplete={field.autoComplete}
              autoCapitalize="none"
              required
              {...attributesOf(field.name)}
              ref={index === 0 ? focusOnMount : null}
            />
          </label>
          <FieldProblem name={field.name} text={problemOf(field.name)} />
        </Fragment>
      ))}
      <p className="hint">{accountTexts.rule}</p>
      {error !== null && (
        <p className="error-message" role="alert">
          {error}
        </p>
      )}
      <button type="submit" className="primary" disabled={isBusy}>
        {isBusy ? accountTexts.busy : submit}
      </button>
    </form>
  );
}
