import { useState, type FormEvent } from "react";

import { useApiMutation } from "../api/cache.ts";
import { Dialog } from "../components/dialog.tsx";
import { focusOnMount } from "../components/focus.ts";
import { ErrorMessage } from "../components/states.tsx";
import {
  RaiseIncidentDocument,
  type IncidentPriority,
  type IncidentType,
} from "../generated/operations.ts";
import { trustTexts } from "../trust_texts.ts";

const words = trustTexts.incidents;

/** The kinds to choose from: a custom one would need a name. */
const KINDS = ["OPERATIONAL", "FRESHNESS", "VOLUME", "FIELD", "SQL", "DATA_SCHEMA"] as const;
const PRIORITIES = ["CRITICAL", "HIGH", "MEDIUM", "LOW"] as const;

export function RaiseDialog({
  urn,
  onClose,
}: {
  readonly urn: string;
  readonly onClose: () => void;
}) {
  const raise = useApiMutation(RaiseIncidentDocument);
  const [isTitleMissing, setTitleMissing] = useState(false);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const title = String(form.get("title")).trim();
    setTitleMissing(title === "");
    if (title === "") {
      event.currentTarget.querySelector<HTMLInputElement>("[name=title]")?.focus();
      return;
    }
    const description = String(form.get("description")).trim();
    raise.mutate(
      {
        input: {
          resourceUrn: urn,
          type: String(form.get("kind")) as IncidentType,
          title,
          priority: String(form.get("priority")) as IncidentPriority,
          ...(description === "" ? {} : { description }),
          status: { state: "ACTIVE", stage: "TRIAGE" },
        },
      },
      { onSuccess: onClose },
    );
  };
  return (
    <Dialog title={words.raiseTitle} isOpen onClose={onClose}>
      <form className="trust-form" noValidate onSubmit={submit}>
        <label>
          {words.title}
          <input
            name="title"
            dir="auto"
            ref={focusOnMount}
            aria-invalid={isTitleMissing}
            aria-describedby="incident-title-error"
          />
          <span id="incident-title-error" className="field-error" role="alert">
            {isTitleMissing && words.titleMissing}
          </span>
        </label>
        <label>
          {words.description}
          <textarea name="description" rows={5} dir="auto" />
        </label>
        <div className="trust-form-row">
          <label>
            {words.kind}
            <select name="kind">
              {KINDS.map((kind) => (
                <option key={kind} value={kind}>
                  {words.kinds[kind]}
                </option>
              ))}
            </select>
          </label>
          <label>
            {words.priority}
            <select name="priority" defaultValue="MEDIUM">
              {PRIORITIES.map((priority) => (
                <option key={priority} value={priority}>
                  {words.priorities[priority]}
                </option>
              ))}
            </select>
          </label>
        </div>
        {raise.error !== null && <ErrorMessage error={raise.error} />}
        <div className="editor-actions">
          <button type="submit" className="primary" disabled={raise.isPending}>
            {words.raiseSubmit}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

export function ResolveDialog({
  title,
  isBusy,
  error,
  onResolve,
  onClose,
}: {
  readonly title: string;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly onResolve: (message: string | undefined) => void;
  readonly onClose: () => void;
}) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const message = String(new FormData(event.currentTarget).get("message")).trim();
    onResolve(message === "" ? undefined : message);
  };
  return (
    <Dialog title={words.resolveTitle} isOpen onClose={onClose}>
      <form className="trust-form" onSubmit={submit}>
        <p dir="auto">{title}</p>
        <label>
          {words.message}
          <textarea name="message" rows={3} dir="auto" ref={focusOnMount} />
        </label>
        {error !== null && <ErrorMessage error={error} />}
        <div className="editor-actions">
          <button type="submit" className="primary" disabled={isBusy}>
            {words.resolve}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
