// The tab "Forms" of a dataset: each form with its prompts, their answers, and its verification.

import { useState, type ReactNode } from "react";

import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { Byline } from "../components/common.tsx";
import { SectionHeader } from "../components/sections.tsx";
import { EmptyState, ErrorMessage, LoadingOrError, StaleNotice } from "../components/states.tsx";
import { formTexts } from "../form_texts.ts";
import {
  DatasetFormsDocument,
  SubmitFormPromptDocument,
  VerifyFormDocument,
  type DatasetFormsQuery,
  type FormAnswersFragment,
  type FormPromptFragment,
  type PropertyValuesFragment,
} from "../generated/operations.ts";
import { nameOfProperty } from "../properties/definition.ts";
import { PropertyDialog } from "../trust/property_dialog.tsx";
import { inputsOf, type ValueInput } from "../trust/property_values.ts";
import { PropertyValues } from "../trust/values.tsx";
import { ColumnPrompt } from "./column_prompt.tsx";
import { answeredOf, assigneesOf, formsOf, type FormState } from "./form.ts";

import "../styles/governance.css";

const words = formTexts.asset;

type Dataset = NonNullable<DatasetFormsQuery["dataset"]>;

export default function AssetForms({ urn }: { readonly urn: string }) {
  const read = useApiQuery(DatasetFormsDocument, { urn });
  if (read.data === undefined) return <LoadingOrError read={read} lines={8} />;
  const dataset = read.data.dataset;
  const forms = formsOf(dataset?.forms);
  return (
    <>
      <StaleNotice read={read} />
      {dataset == null || forms.length === 0 ? (
        <EmptyState title={words.none} hint={words.noneHint} />
      ) : (
        forms.map(({ association, state }) => (
          <AssetForm
            key={association.form.urn}
            dataset={dataset}
            association={association}
            state={state}
          />
        ))
      )}
    </>
  );
}

function AssetForm({
  dataset,
  association,
  state,
}: {
  readonly dataset: Dataset;
  readonly association: FormAnswersFragment;
  readonly state: FormState;
}) {
  const { form } = association;
  const { info } = form;
  const [done, setDone] = useState<string | null>(null);
  const canAnswer = association.isAssignedToMe || dataset.privileges?.canEditProperties === true;
  const id = `form-${form.urn}`;
  return (
    <section className="section asset-form" aria-labelledby={id}>
      <SectionHeader title={info.name} id={id}>
        <FormBadge state={state} />
      </SectionHeader>
      {info.description != null && info.description !== "" && (
        <p className="admin-intro" dir="auto">
          {info.description}
        </p>
      )}
      <p className="hint">
        {words.progress(answeredOf(association), info.prompts.length)}{" "}
        {!canAnswer && words.answeredByThem(assigneesOf(info.actors))}
      </p>
      {info.prompts.length === 0 && <p className="hint">{words.noPrompts}</p>}
      <ol className="form-prompts">
        {info.prompts.map((prompt) =>
          prompt.type === "FIELDS_STRUCTURED_PROPERTY" ? (
            <ColumnPrompt
              key={prompt.id}
              urn={dataset.urn}
              association={association}
              prompt={prompt}
              canAnswer={canAnswer}
              onDone={setDone}
            />
          ) : (
            <Prompt
              key={prompt.id}
              dataset={dataset}
              association={association}
              prompt={prompt}
              canAnswer={canAnswer}
              onDone={setDone}
            />
          ),
        )}
      </ol>
      <p className="hint" role="status">
        {done}
      </p>
      {info.type === "VERIFICATION" && (
        <Verification dataset={dataset} association={association} state={state} onDone={setDone} />
      )}
    </section>
  );
}

/** The state of a form as a word with a color. */
export function FormBadge({ state }: { readonly state: FormState }) {
  return (
    <span className="form-badge" data-state={state}>
      {formTexts.states[state]}
    </span>
  );
}

/** The text of a prompt, its answer, and what can be done about it. */
export function PromptItem({
  prompt,
  children,
}: {
  readonly prompt: FormPromptFragment;
  readonly children: ReactNode;
}) {
  return (
    <li className="form-prompt">
      <div className="form-prompt-title">
        <h3 dir="auto">{prompt.title}</h3>
        <span className="hint">{prompt.required ? words.required : words.optional}</span>
      </div>
      {prompt.description != null && prompt.description !== "" && (
        <p className="hint" dir="auto">
          {prompt.description}
        </p>
      )}
      {children}
    </li>
  );
}

function Prompt({
  dataset,
  association,
  prompt,
  canAnswer,
  onDone,
}: {
  readonly dataset: Dataset;
  readonly association: FormAnswersFragment;
  readonly prompt: FormPromptFragment;
  readonly canAnswer: boolean;
  readonly onDone: (text: string | null) => void;
}) {
  const submit = useApiMutation(SubmitFormPromptDocument);
  const [isOpen, setOpen] = useState(false);
  const property = prompt.structuredPropertyParams?.structuredProperty;
  if (property === undefined) return null;
  const answered = association.completedPrompts?.find(({ id }) => id === prompt.id);
  const entry = dataset.structuredProperties?.properties?.find(
    ({ structuredProperty }) => structuredProperty.urn === property.urn,
  );
  const answer = (values: readonly ValueInput[]) => {
    onDone(null);
    submit.mutate(
      {
        urn: dataset.urn,
        input: {
          promptId: prompt.id,
          formUrn: association.form.urn,
          type: prompt.type,
          structuredPropertyParams: { structuredPropertyUrn: property.urn, values: [...values] },
        },
      },
      {
        onSuccess: () => {
          setOpen(false);
          onDone(words.saved(prompt.title));
        },
      },
    );
  };
  const isFixed = property.definition.immutable && entry !== undefined;
  return (
    <PromptItem prompt={prompt}>
      <Answer entry={entry} answered={answered} />
      {canAnswer && (
        <div className="form-prompt-actions">
          {answered === undefined && entry !== undefined && (
            <button
              type="button"
              className="primary"
              disabled={submit.isPending}
              aria-label={words.confirmLabel(prompt.title)}
              onClick={() => answer(inputsOf(entry))}
            >
              {words.confirm}
            </button>
          )}
          {!isFixed && (
            <button
              type="button"
              className={entry === undefined ? "primary" : ""}
              aria-label={
                entry === undefined
                  ? words.giveLabel(prompt.title)
                  : words.changeLabel(prompt.title)
              }
              onClick={() => {
                submit.reset();
                setOpen(true);
              }}
            >
              {entry === undefined ? words.give : words.change}
            </button>
          )}
        </div>
      )}
      {!isOpen && submit.error !== null && <ErrorMessage error={submit.error} />}
      {isOpen && (
        <PropertyDialog
          title={prompt.title}
          property={property}
          entry={entry}
          name={nameOfProperty(property)}
          isBusy={submit.isPending}
          error={submit.error}
          onSave={answer}
          onClose={() => setOpen(false)}
        />
      )}
    </PromptItem>
  );
}

function Answer({
  entry,
  answered,
}: {
  readonly entry: PropertyValuesFragment | undefined;
  readonly answered: NonNullable<FormAnswersFragment["completedPrompts"]>[number] | undefined;
}) {
  if (entry === undefined) return <p className="hint form-missing">{words.notAnswered}</p>;
  return (
    <div className="form-answer">
      <PropertyValues entry={entry} />{" "}
      {answered === undefined ? (
        <span className="hint form-missing">{words.presentValue}</span>
      ) : (
        <span className="hint">
          <Byline
            actor={answered.lastModified.actor}
            time={answered.lastModified.time}
            by={words.answeredBy}
            at={words.answeredAt}
          />
        </span>
      )}
    </div>
  );
}

function Verification({
  dataset,
  association,
  state,
  onDone,
}: {
  readonly dataset: Dataset;
  readonly association: FormAnswersFragment;
  readonly state: FormState;
  readonly onDone: (text: string | null) => void;
}) {
  const verify = useApiMutation(VerifyFormDocument);
  const { form } = association;
  const verification = dataset.forms?.verifications.find((it) => it.form.urn === form.urn);
  if (state === "incomplete") return <p className="hint">{words.verifyAfter}</p>;
  if (verification !== undefined && state === "verified") {
    const stamp = verification.lastModified;
    return (
      <p>
        <Byline
          actor={stamp?.actor}
          time={stamp?.time ?? 0}
          by={words.verifiedBy}
          at={words.verifiedAt}
        />
      </p>
    );
  }
  if (!association.isAssignedToMe)
    return <p className="hint">{words.verifyByOthers(assigneesOf(form.info.actors))}</p>;
  return (
    <div>
      <button
        type="button"
        className="primary"
        disabled={verify.isPending}
        aria-label={words.verifyLabel(form.info.name)}
        onClick={() => {
          onDone(null);
          verify.mutate(
            { form: form.urn, urn: dataset.urn },
            { onSuccess: () => onDone(words.verified(form.info.name)) },
          );
        }}
      >
        {words.verify}
      </button>
      {verify.error !== null && <ErrorMessage error={verify.error} />}
    </div>
  );
}
