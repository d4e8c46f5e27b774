import { useState, type FormEvent } from "react";

import { NamedPicker } from "../admin/named_picker.tsx";
import type { Named } from "../admin/policy.ts";
import { useApiMutation } from "../api/cache.ts";
import { Dialog } from "../components/dialog.tsx";
import { focusOnMount } from "../components/focus.ts";
import { ErrorMessage } from "../components/states.tsx";
import { useUnsaved } from "../components/unsaved.ts";
import {
  RaiseIncidentDocument,
  UpdateIncidentDocument,
  type IncidentEntryFragment,
  type IncidentPriority,
  type IncidentStage,
  type IncidentStatusInput,
  type IncidentType,
  type UpdateIncidentInput,
} from "../generated/operations.ts";
import { nameOf, type Nameable } from "../names.ts";
import { texts } from "../texts.ts";
import { trustTexts } from "../trust_texts.ts";

const words = trustTexts.incidents;

/** The kinds to choose from: a custom one would need a name. */
const KINDS = ["OPERATIONAL", "FRESHNESS", "VOLUME", "FIELD", "SQL", "DATA_SCHEMA"] as const;
/** The stages of an active incident. */
const STAGES = ["TRIAGE", "INVESTIGATION", "WORK_IN_PROGRESS"] as const;
const PRIORITIES = ["CRITICAL", "HIGH", "MEDIUM", "LOW"] as const;

/** Raises an incident, or changes one that is active. */
export function IncidentDialog({
  urn,
  incident,
  onSaved,
  onClose,
}: {
  /** The dataset. */
  readonly urn: string;
  readonly incident: IncidentEntryFragment | null;
  readonly onSaved: (before: UpdateIncidentInput | null) => void;
  readonly onClose: () => void;
}) {
  const raise = useApiMutation(RaiseIncidentDocument);
  const update = useApiMutation(UpdateIncidentDocument);
  const [isTitleMissing, setTitleMissing] = useState(false);
  const [before] = useState(() => (incident?.assignees ?? []).map(namedOf));
  const [assignees, setAssignees] = useState<readonly Named[]>(before);
  useUnsaved(() => urnsOf(assignees).join() !== urnsOf(before).join());
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
    const input = {
      title,
      priority: String(form.get("priority")) as IncidentPriority,
      assigneeUrns: urnsOf(assignees),
    };
    if (incident === null) {
      const status: IncidentStatusInput = { state: "ACTIVE", stage: "TRIAGE" };
      const type = String(form.get("kind")) as IncidentType;
      const more = description === "" ? {} : { description };
      raise.mutate(
        { input: { ...input, ...more, resourceUrn: urn, type, status } },
        { onSuccess: () => onSaved(null) },
      );
    } else {
      const stage = String(form.get("stage")) as IncidentStage;
      const status = { state: incident.status.state, stage, message: incident.status.message };
      update.mutate(
        { urn: incident.urn, input: { ...input, description, status } },
        { onSuccess: () => onSaved(inputOf(incident)) },
      );
    }
  };
  return (
    <Dialog title={incident === null ? words.raiseTitle : words.editTitle} isOpen onClose={onClose}>
      <form className="trust-form" noValidate onSubmit={submit}>
        <label>
          {words.title}
          <input
            name="title"
            dir="auto"
            defaultValue={incident?.title ?? ""}
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
          <textarea
            name="description"
            rows={5}
            dir="auto"
            defaultValue={incident?.description ?? ""}
          />
        </label>
        <div className="trust-form-row">
          {incident === null ? (
            <Choices name="kind" label={words.kind} options={KINDS} texts={words.kinds} />
          ) : (
            <Choices
              name="stage"
              label={words.stage}
              options={STAGES}
              texts={words.stages}
              value={incident.status.stage ?? "TRIAGE"}
            />
          )}
          <Choices
            name="priority"
            label={words.priority}
            options={PRIORITIES}
            texts={words.priorities}
            value={incident?.priority ?? "MEDIUM"}
          />
        </div>
        <fieldset className="assignees">
          <legend>{words.assigneesLabel}</legend>
          <NamedPicker
            button={words.assign}
            types={["CORP_USER", "CORP_GROUP"]}
            words={words.people}
            chosen={assignees}
            onChange={setAssignees}
          />
        </fieldset>
        {(raise.error ?? update.error) !== null && (
          <ErrorMessage error={(raise.error ?? update.error) as Error} />
        )}
        <div className="dialog-actions">
          <button type="button" onClick={onClose}>
            {texts.common.cancel}
          </button>
          <button type="submit" className="primary" disabled={raise.isPending || update.isPending}>
            {incident === null ? words.raiseSubmit : words.save}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

const namedOf = (actor: Nameable & { readonly urn: string }): Named => ({
  urn: actor.urn,
  name: nameOf(actor),
});

const urnsOf = (actors: readonly Named[]) => actors.map(({ urn }) => urn);

/** An incident as it is now, to restore it. */
const inputOf = (incident: IncidentEntryFragment): UpdateIncidentInput => ({
  title: incident.title,
  description: incident.description ?? "",
  priority: incident.priority,
  assigneeUrns: (incident.assignees ?? []).map(({ urn }) => urn),
  status: {
    state: incident.status.state,
    stage: incident.status.stage,
    message: incident.status.message,
  },
});

function Choices<Name extends string>({
  name,
  label,
  options,
  texts,
  value,
}: {
  readonly name: string;
  readonly label: string;
  readonly options: readonly Name[];
  readonly texts: Readonly<Record<Name, string>>;
  readonly value?: string;
}) {
  return (
    <label>
      {label}
      <select name={name} defaultValue={value}>
        {options.map((option) => (
          <option key={option} value={option}>
            {texts[option]}
          </option>
        ))}
      </select>
    </label>
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
        <div className="dialog-actions">
          <button type="button" onClick={onClose}>
            {texts.common.cancel}
          </button>
          <button type="submit" className="primary" disabled={isBusy}>
            {words.resolve}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
