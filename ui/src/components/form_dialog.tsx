// Dialogs with a form, and the parts that they share.

import { useState, type ReactNode } from "react";
import { flushSync } from "react-dom";

import { texts } from "../texts.ts";
import { Dialog } from "./dialog.tsx";
import { focusOnMount } from "./focus.ts";
import { ErrorMessage } from "./states.tsx";
import { showInvalid } from "./validation.tsx";

interface FormDialogProperties {
  readonly title: string;
  /** The label of the button that submits. */
  readonly submit: string;
  readonly isBusy: boolean;
  readonly error: Error | null;
  /** Gets the fields, and the form to show in it what the server rejects. */
  readonly onSubmit: (fields: FormData, form: HTMLFormElement) => void;
  readonly onClose: () => void;
  readonly isWide?: boolean;
  readonly children: ReactNode;
}

/** A dialog with a form. What was typed stays while the request fails. */
export function FormDialog(properties: FormDialogProperties) {
  const { title, submit, isBusy, error, onSubmit, onClose, isWide = false, children } = properties;
  return (
    <Dialog title={title} isOpen isWide={isWide} onClose={onClose}>
      <form
        className="form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          const form = event.currentTarget;
          showInvalid(form, () => onSubmit(new FormData(form), form));
        }}
      >
        {children}
        {error !== null && <ErrorMessage error={error} />}
        <DialogActions label={submit} isBusy={isBusy} onClose={onClose} />
      </form>
    </Dialog>
  );
}

/** Closes a form that was saved, then goes on: leaving the page would ask about the fields as long as
 *  they are there. */
export function closeThen(onClose: () => void, next: () => void): void {
  flushSync(onClose);
  next();
}

/** The trimmed text of a field. */
export const fieldOf = (form: FormData, name: string) => String(form.get(name) ?? "").trim();

/** The buttons of a form: cancel and submit. */
export function DialogActions({
  label,
  isBusy,
  onClose,
}: {
  readonly label: string;
  readonly isBusy: boolean;
  readonly onClose: () => void;
}) {
  return (
    <div className="dialog-actions">
      <button type="button" onClick={onClose}>
        {texts.common.cancel}
      </button>
      <button type="submit" className="primary" disabled={isBusy}>
        {label}
      </button>
    </div>
  );
}

/** The field for the name of an entity. Warns while typing, and shows why a name is rejected. */
export function NameField({
  value,
  error,
  warningOf,
}: {
  readonly value?: string;
  readonly error: string | null;
  /** What the user should know about a name that is allowed. */
  readonly warningOf?: (name: string) => string | null;
}) {
  const [typed, setTyped] = useState(value ?? "");
  const warning = typed.trim() === (value ?? "") ? null : warningOf?.(typed.trim());
  return (
    <label>
      {texts.common.name}
      <input
        name="name"
        defaultValue={value}
        onChange={(event) => setTyped(event.target.value)}
        ref={focusOnMount}
        aria-invalid={error !== null}
        aria-describedby="name-error"
      />
      <span id="name-error" className="field-error" role="alert">
        {error}
      </span>
      <span className="hint warning" role="status">
        {warning}
      </span>
    </label>
  );
}

/** The field for a description, which is optional. */
export function DescriptionField() {
  return (
    <label>
      <span>
        {texts.description.heading} <span className="hint">{texts.domains.optional}</span>
      </span>
      <textarea name="description" rows={4} />
    </label>
  );
}
