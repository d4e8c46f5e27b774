// Checks of forms, with messages of our own beside the fields in place of the browser's.

import { useState } from "react";
import { flushSync } from "react-dom";

import { texts } from "../texts.ts";

type Field = HTMLInputElement | HTMLTextAreaElement;

const NO_PROBLEMS: ReadonlyMap<string, string> = new Map();
const INVALID = '[aria-invalid="true"], [data-invalid]';
const FOCUSABLE = "input, textarea, select, button";

/** Runs the check of a form. If a field is not valid then, the first one is shown and focused. */
export function showInvalid(root: HTMLElement, check: () => void): void {
  flushSync(check);
  const invalid = root.querySelector<HTMLElement>(INVALID);
  const field = invalid?.matches(FOCUSABLE)
    ? invalid
    : invalid?.querySelector<HTMLElement>(FOCUSABLE);
  field?.focus({ preventScroll: true });
  field?.scrollIntoView({ block: "center" });
}

/** Checks what the attributes of fields require (`required`, `type`, `pattern`), by their names. */
export function useValidation() {
  const [problems, setProblems] = useState(NO_PROBLEMS);
  return {
    /** Whether all fields are valid. */
    check: (form: HTMLFormElement): boolean => {
      const fields = [...form.querySelectorAll<Field>("input[name], textarea[name]")];
      const found = new Map(
        fields.flatMap((field) => {
          const problem = problemOf(field);
          return problem === undefined ? [] : [[field.name, problem] as const];
        }),
      );
      showInvalid(form, () => setProblems(found));
      return found.size === 0;
    },
    problemOf: (name: string) => problems.get(name),
    attributesOf: (name: string) => invalidIf(name, problems.get(name)),
  };
}

function problemOf(field: Field): string | undefined {
  if (field.required && field.value.trim() === "") return texts.errors.required;
  if (field.validity.valid) return undefined;
  return field.title === "" ? field.validationMessage : field.title;
}

const idOf = (name: string) => `${name}-problem`;

/** The attributes of a field that may have a problem. */
export const invalidIf = (name: string, problem: string | undefined) => ({
  "aria-invalid": problem !== undefined,
  "aria-describedby": problem === undefined ? undefined : idOf(name),
});

/** What is wrong with a field. Beside its label, which it must not change. */
export function FieldProblem({
  name,
  text,
}: {
  /** As in `invalidIf`. */
  readonly name: string;
  readonly text: string | undefined;
}) {
  if (text === undefined) return null;
  return (
    <span id={idOf(name)} className="field-error" role="alert">
      {text}
    </span>
  );
}
