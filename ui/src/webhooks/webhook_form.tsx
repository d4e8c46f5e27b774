import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { Warning } from "../admin/common.tsx";
import { refreshAll, useApiMutation } from "../api/cache.ts";
import { FormDialog, closeThen, fieldOf } from "../components/form_dialog.tsx";
import { focusOnMount } from "../components/focus.ts";
import { useUnsaved } from "../components/unsaved.ts";
import { FieldProblem, showInvalid } from "../components/validation.tsx";
import {
  CreateWebhookDocument,
  type WebhookEntryFragment,
  type WebhookFormat,
  type WebhookInput,
  type WebhookTopic,
} from "../generated/operations.ts";
import { webhookTexts } from "../webhook_texts.ts";
import { FilterFields, withTyped } from "./filter_fields.tsx";
import type { Created } from "./secret.tsx";
import { changeWebhook, fieldProblemOf, type Filter, type Problem } from "./settings.ts";

const words = webhookTexts.form;

interface FormProperties {
  /** Null to create one. */
  readonly webhook: WebhookEntryFragment | null;
  /** The filters with which the edit starts. */
  readonly filter: Filter;
  readonly isOwner: boolean;
  readonly onClose: () => void;
  readonly onCreated: (created: Created) => void;
  readonly onSaved: (name: string) => void;
}

/** Creates a webhook, or changes the settings of one. Its secret stays. */
export function WebhookForm(properties: FormProperties) {
  const { webhook, isOwner, onClose, onCreated, onSaved } = properties;
  const create = useApiMutation(CreateWebhookDocument);
  const update = useMutation({
    mutationFn: ({ urn, change }: { urn: string; change: Partial<WebhookInput> }) =>
      changeWebhook(urn, change),
    onSuccess: refreshAll,
  });
  const [start] = useState(properties.filter);
  const [filter, setFilter] = useState(start);
  const [problem, setProblem] = useState<Problem | null>(null);
  useUnsaved(() => JSON.stringify(filter) !== JSON.stringify(start));
  const submit = (fields: FormData, form: HTMLFormElement) => {
    const input = inputOf(fields, filter);
    const found = problemOf(input);
    setProblem(found);
    if (found !== null) return;
    const onError = (error: Error) => showInvalid(form, () => setProblem(fieldProblemOf(error)));
    if (webhook === null)
      create.mutate(
        { input: { ...input, isActive: true } },
        {
          onSuccess: ({ createWebhook }) =>
            closeThen(onClose, () => onCreated({ ...createWebhook, name: input.name })),
          onError,
        },
      );
    else
      update.mutate(
        // Whether it is paused, somebody else may have changed meanwhile.
        { urn: webhook.urn, change: input },
        { onSuccess: () => closeThen(onClose, () => onSaved(input.name)), onError },
      );
  };
  const error = create.error ?? update.error;
  return (
    <FormDialog
      title={webhook === null ? words.createTitle : words.editTitle(webhook.name)}
      submit={webhook === null ? words.createButton : words.save}
      isWide
      isBusy={create.isPending || update.isPending}
      error={fieldProblemOf(error) === null ? error : null}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField
        name="name"
        label={words.name}
        value={webhook?.name ?? ""}
        problem={problem}
        isFirst
      />
      <TextField
        name="url"
        label={words.url}
        value={webhook?.url ?? ""}
        hint={words.urlHint}
        problem={problem}
      />
      <div className="field-row">
        <Choice
          name="topic"
          label={words.topic}
          options={webhookTexts.topics}
          value={webhook?.topic ?? "METADATA_CHANGE_LOG"}
        />
        <Choice
          name="format"
          label={words.format}
          options={webhookTexts.formats}
          value={webhook?.format ?? "CLOUDEVENTS"}
        />
      </div>
      <FilterFields
        filter={filter}
        problem={problem}
        onChange={(changed) => setFilter((current) => ({ ...current, ...changed }))}
      />
      {!isOwner && <Warning>{webhookTexts.becomesOwner}</Warning>}
    </FormDialog>
  );
}

/** The input of the API. Names that are typed in a filter but not added count, too. */
function inputOf(fields: FormData, filter: Filter) {
  const urns = (values: Filter[keyof Filter]) => values.map(({ urn }) => urn);
  const typed = (name: "entityTypes" | "aspects") =>
    urns(withTyped(filter[name], fieldOf(fields, name)));
  return {
    name: fieldOf(fields, "name"),
    url: fieldOf(fields, "url"),
    topic: fieldOf(fields, "topic") as WebhookTopic,
    format: fieldOf(fields, "format") as WebhookFormat,
    filter: {
      entityTypes: typed("entityTypes"),
      aspects: typed("aspects"),
      domains: urns(filter.domains),
      tags: urns(filter.tags),
      actors: urns(filter.actors),
    },
  } satisfies Partial<WebhookInput>;
}

function problemOf({ name, url }: Pick<WebhookInput, "name" | "url">): Problem | null {
  if (name === "") return { field: "name", text: words.nameMissing };
  return url === "" ? { field: "url", text: words.urlMissing } : null;
}

function TextField({
  name,
  label,
  value,
  hint,
  problem,
  isFirst = false,
}: {
  readonly name: "name" | "url";
  readonly label: string;
  readonly value: string;
  readonly hint?: string;
  readonly problem: Problem | null;
  readonly isFirst?: boolean;
}) {
  const id = `webhook-${name}`;
  const text = problem?.field === name ? problem.text : undefined;
  const described = [hint !== undefined && `${id}-hint`, text !== undefined && `${id}-problem`];
  return (
    <div className="form-field">
      <label>
        {label}
        <input
          name={name}
          type={name === "url" ? "url" : "text"}
          dir="auto"
          autoComplete="off"
          spellCheck={false}
          defaultValue={value}
          aria-invalid={text !== undefined}
          aria-describedby={described.filter(Boolean).join(" ") || undefined}
          ref={isFirst ? focusOnMount : null}
        />
      </label>
      {hint !== undefined && (
        <span id={`${id}-hint`} className="hint">
          {hint}
        </span>
      )}
      <FieldProblem name={id} text={text} />
    </div>
  );
}

function Choice({
  name,
  label,
  options,
  value,
}: {
  readonly name: string;
  readonly label: string;
  readonly options: Readonly<Record<string, string>>;
  readonly value: string;
}) {
  return (
    <label>
      {label}
      <select name={name} defaultValue={value}>
        {Object.entries(options).map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
