import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { NamedPicker } from "../admin/named_picker.tsx";
import type { Named } from "../admin/policy.ts";
import { refreshAll, useApiMutation, useApiQuery } from "../api/cache.ts";
import { run } from "../api/client.ts";
import { FormDialog, closeThen, fieldOf } from "../components/form_dialog.tsx";
import { focusOnMount } from "../components/focus.ts";
import { useUnsaved } from "../components/unsaved.ts";
import { FieldProblem, invalidIf } from "../components/validation.tsx";
import { formTexts } from "../form_texts.ts";
import {
  CreateFormDocument,
  ManagedFormDocument,
  OwnershipTypesDocument,
  UpdateFormDocument,
  type FormType,
  type ManagedFormFragment,
  type UpdateFormInput,
} from "../generated/operations.ts";
import { urnId } from "../names.ts";
import { policyTexts } from "../policy_texts.ts";
import {
  EMPTY_PROMPT,
  actorChanges,
  actorsInput,
  draftOf,
  promptChanges,
  promptInput,
  type ActorDraft,
  type PromptDraft,
} from "./draft.ts";
import { PromptFields, type FormProblem } from "./prompt_fields.tsx";

const words = formTexts.editor;
const TYPES: readonly FormType[] = ["COMPLETION", "VERIFICATION"];

/** Creates a form, or changes one. */
export function FormEditor({
  form,
  onClose,
  onSaved,
}: {
  /** The form to change; `null` for a new one. */
  readonly form: ManagedFormFragment | null;
  readonly onClose: () => void;
  readonly onSaved: (urn: string) => void;
}) {
  // What the edit started with: others may change the form meanwhile.
  const [before] = useState(() => draftOf(form));
  const [prompts, setPrompts] = useState(before.prompts);
  const [actors, setActors] = useState(before.actors);
  const [problem, setProblem] = useState<FormProblem | null>(null);
  const create = useApiMutation(CreateFormDocument);
  const update = useMutation({
    mutationFn: async (input: Omit<UpdateFormInput, "promptsToAdd" | "promptsToRemove">) => {
      const now = await run(ManagedFormDocument, { urn: input.urn });
      const changes = promptChanges(before.prompts, prompts, draftOf(now.form ?? form).prompts);
      return run(UpdateFormDocument, { input: { ...input, ...changes } });
    },
    onSuccess: refreshAll,
  });
  const isChanged = () =>
    JSON.stringify([prompts, actors]) !== JSON.stringify([before.prompts, before.actors]);
  useUnsaved(isChanged);
  const submit = (fields: FormData) => {
    const name = fieldOf(fields, "name");
    const description = fieldOf(fields, "description");
    const type = fieldOf(fields, "type") as FormType;
    const found = problemOf(name, prompts, actors);
    setProblem(found);
    if (found !== null) return;
    const done = (urn: string) => closeThen(onClose, () => onSaved(urn));
    if (form === null)
      create.mutate(
        {
          input: {
            name,
            ...(description === "" ? {} : { description }),
            type,
            prompts: prompts.map(promptInput),
            actors: actorsInput(actors),
          },
        },
        { onSuccess: ({ createForm }) => done(createForm.urn) },
      );
    else
      update.mutate(
        {
          urn: form.urn,
          name,
          description,
          type,
          actors: actorChanges(before.actors, actors),
        },
        { onSuccess: () => done(form.urn) },
      );
  };
  const change = (next: readonly PromptDraft[]) => {
    setProblem(null);
    setPrompts(next);
  };
  const nameProblem = problem?.field === "name" ? problem.text : undefined;
  return (
    <FormDialog
      title={form === null ? words.createTitle : words.editTitle(form.info.name)}
      submit={form === null ? words.createButton : words.save}
      isWide
      isBusy={create.isPending || update.isPending}
      error={create.error ?? update.error}
      onSubmit={submit}
      onClose={onClose}
    >
      <label>
        {words.name}
        <input
          name="name"
          dir="auto"
          defaultValue={form?.info.name ?? ""}
          {...invalidIf("form-name", nameProblem)}
          ref={focusOnMount}
        />
      </label>
      <FieldProblem name="form-name" text={nameProblem} />
      <label>
        {words.description}
        <textarea
          name="description"
          dir="auto"
          rows={2}
          defaultValue={form?.info.description ?? ""}
        />
      </label>
      <fieldset className="admin-fieldset">
        <legend>{words.type}</legend>
        {TYPES.map((type) => (
          <label key={type} className="choice">
            <input
              type="radio"
              name="type"
              value={type}
              defaultChecked={type === (form?.info.type ?? "COMPLETION")}
            />
            <span>
              {formTexts.types[type]} <span className="hint">{formTexts.typeHints[type]}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <PromptFields prompts={prompts} problem={problem} onChange={change} />
      <button type="button" onClick={() => change([...prompts, EMPTY_PROMPT])}>
        {words.addPrompt}
      </button>
      <ActorFields
        actors={actors}
        problem={problem?.field === "who" ? problem.text : undefined}
        onChange={(changed) => {
          setProblem(null);
          setActors({ ...actors, ...changed });
        }}
      />
    </FormDialog>
  );
}

/** What keeps a form from being stored. */
function problemOf(
  name: string,
  prompts: readonly PromptDraft[],
  actors: ActorDraft,
): FormProblem | null {
  if (name === "") return { field: "name", text: words.nameMissing };
  for (const [prompt, { title, property }] of prompts.entries()) {
    if (title.trim() === "")
      return { field: "title", prompt, text: words.titleMissing(prompt + 1) };
    if (property === null)
      return { field: "property", prompt, text: words.propertyMissing(prompt + 1) };
  }
  const isForNobody = !actors.owners && actors.people.length === 0;
  return isForNobody ? { field: "who", text: words.nobody } : null;
}

function ActorFields({
  actors,
  problem,
  onChange,
}: {
  readonly actors: ActorDraft;
  readonly problem: string | undefined;
  readonly onChange: (changed: Partial<ActorDraft>) => void;
}) {
  const types = useApiQuery(OwnershipTypesDocument, {}).data?.listOwnershipTypes?.ownershipTypes;
  const has = (list: readonly Named[], urn: string) => list.some((it) => it.urn === urn);
  return (
    <fieldset className="admin-fieldset">
      <legend>{words.who}</legend>
      <FieldProblem name="who" text={problem} />
      <label className="choice">
        <input
          type="checkbox"
          checked={actors.owners}
          {...invalidIf("who", problem)}
          onChange={(event) => onChange({ owners: event.target.checked })}
        />
        {words.owners}
      </label>
      {actors.owners && (types?.length ?? 0) > 0 && (
        <details open={actors.ownershipTypes.length > 0}>
          <summary>{words.ownerTypes}</summary>
          <p className="hint">{words.ownerTypesHint}</p>
          <div className="choices narrow-choices">
            {(types ?? []).map(({ urn, info }) => {
              const name = info?.name ?? urnId(urn);
              return (
                <label key={urn} className="choice">
                  <input
                    type="checkbox"
                    checked={has(actors.ownershipTypes, urn)}
                    onChange={(event) =>
                      onChange({
                        ownershipTypes: event.target.checked
                          ? [...actors.ownershipTypes, { urn, name }]
                          : actors.ownershipTypes.filter((it) => it.urn !== urn),
                      })
                    }
                  />
                  {name}
                </label>
              );
            })}
          </div>
        </details>
      )}
      <p className="field-label">{words.people}</p>
      <NamedPicker
        button={words.addActor}
        types={["CORP_USER", "CORP_GROUP"]}
        words={{
          filter: policyTexts.form.actorFilter,
          list: policyTexts.form.actorList,
          chosen: policyTexts.form.chosen,
          noMatch: policyTexts.form.noMatch,
        }}
        chosen={actors.people}
        onChange={(people) => onChange({ people })}
      />
    </fieldset>
  );
}
