import { useState } from "react";

import { useApiMutation } from "../api/cache.ts";
import { FormDialog, closeThen, fieldOf } from "../components/form_dialog.tsx";
import { focusOnMount } from "../components/focus.ts";
import { useUnsaved } from "../components/unsaved.ts";
import {
  CreateIngestionSourceDocument,
  UpdateIngestionSourceDocument,
  type IngestionSourceEntryFragment,
  type UpdateIngestionSourceInput,
} from "../generated/operations.ts";
import { ingestionTexts } from "../ingestion_texts.ts";
import { STORED_RECIPE, TEMPLATE, parseRecipe } from "./recipe.ts";
import { RecipeField } from "./recipe_field.tsx";

const words = ingestionTexts.form;
const DEFAULT_EXECUTOR = "default";

/** Types of connectors that are suggested; others can be typed. */
const TYPES = [
  "athena",
  "bigquery",
  "databricks",
  "dbt",
  "glue",
  "hive",
  "kafka",
  "looker",
  "metabase",
  "mssql",
  "mysql",
  "oracle",
  "postgres",
  "powerbi",
  "redshift",
  "s3",
  "snowflake",
  "superset",
  "tableau",
  "trino",
];

interface Problem {
  readonly field: "name" | "type" | "timezone" | "recipe";
  readonly text: string;
}

/** Creates a source, or changes one. The stored recipe stays unless it is edited. */
export function SourceForm({
  source,
  onClose,
  onSaved,
}: {
  readonly source: IngestionSourceEntryFragment | null;
  readonly onClose: () => void;
  readonly onSaved: (urn: string) => void;
}) {
  const create = useApiMutation(CreateIngestionSourceDocument);
  const update = useApiMutation(UpdateIngestionSourceDocument);
  // The text with which the editor was opened.
  const [opened, setOpened] = useState(TEMPLATE);
  // Null while the stored recipe stays.
  const [recipe, setRecipe] = useState(source === null ? TEMPLATE : null);
  const [problem, setProblem] = useState<Problem | null>(null);
  useUnsaved(() => recipe !== null && recipe !== opened);
  const errorOf = (field: Problem["field"]) => (problem?.field === field ? problem.text : null);
  const submit = async (fields: FormData) => {
    const isStored = source !== null && recipe === opened;
    const checked = await inputOf(fields, isStored ? null : recipe, source);
    setProblem("problem" in checked ? checked.problem : null);
    if ("problem" in checked) return;
    const done = (urn: string) => closeThen(onClose, () => onSaved(urn));
    if (source === null)
      create.mutate(
        { input: checked.input },
        { onSuccess: ({ createIngestionSource }) => done(createIngestionSource ?? "") },
      );
    else
      update.mutate(
        { urn: source.urn, input: checked.input },
        { onSuccess: () => done(source.urn) },
      );
  };
  const { config } = source ?? {};
  return (
    <FormDialog
      title={source === null ? words.createTitle : words.editTitle(source.name)}
      submit={source === null ? words.createButton : words.save}
      isWide
      isBusy={create.isPending || update.isPending}
      error={create.error ?? update.error}
      onSubmit={(fields) => void submit(fields)}
      onClose={onClose}
    >
      <Field
        name="name"
        label={words.name}
        value={source?.name ?? ""}
        error={errorOf("name")}
        isFirst
      />
      <Field
        name="type"
        label={words.type}
        value={source?.type ?? ""}
        hint={words.typeHint}
        error={errorOf("type")}
        list="source-types"
      />
      <datalist id="source-types">
        {TYPES.map((type) => (
          <option key={type} value={type} />
        ))}
      </datalist>
      <div className="field-row">
        <Field
          name="interval"
          label={words.schedule}
          value={source?.schedule?.interval ?? ""}
          placeholder={words.schedulePlaceholder}
        />
        <Field
          name="timezone"
          label={words.timezone}
          value={
            source?.schedule?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone ?? "UTC"
          }
          error={errorOf("timezone")}
        />
      </div>
      <p className="hint">
        {words.scheduleHint} {words.noSchedule}
      </p>
      <RecipeField
        source={source?.urn ?? null}
        text={recipe}
        error={errorOf("recipe")}
        onOpen={(text) => {
          setOpened(text);
          setRecipe(text);
        }}
        onChange={setRecipe}
        onKeep={() => setRecipe(null)}
      />
      <details>
        <summary>{words.advanced}</summary>
        <Field
          name="executor"
          label={words.executor}
          value={config?.executorId ?? DEFAULT_EXECUTOR}
          hint={words.executorHint}
        />
        <Field
          name="version"
          label={words.version}
          value={config?.version ?? ""}
          hint={words.versionHint}
        />
        <label className="choice">
          <input type="checkbox" name="debug" defaultChecked={config?.debugMode === true} />
          {words.debug}
        </label>
      </details>
    </FormDialog>
  );
}

type Checked = { readonly input: UpdateIngestionSourceInput } | { readonly problem: Problem };

/** The input of the API, or what is wrong with a field. Without a recipe, the stored one stays. */
async function inputOf(
  fields: FormData,
  recipe: string | null,
  source: IngestionSourceEntryFragment | null,
): Promise<Checked> {
  const name = fieldOf(fields, "name");
  const type = fieldOf(fields, "type");
  const interval = fieldOf(fields, "interval");
  const timezone = fieldOf(fields, "timezone");
  const version = fieldOf(fields, "version");
  const executor = fieldOf(fields, "executor");
  const wrong = (field: Problem["field"], text: string) => ({ problem: { field, text } });
  if (name === "") return wrong("name", words.nameMissing);
  if (type === "") return wrong("type", words.typeMissing);
  if (interval !== "" && timezone === "") return wrong("timezone", words.timezoneMissing);
  const parsed = recipe === null ? { json: STORED_RECIPE, type } : await parseRecipe(recipe);
  if ("error" in parsed) return wrong("recipe", parsed.error);
  if (parsed.type !== type) return wrong("type", words.typeDiffers(parsed.type, type));
  const extraArgs = source?.config.extraArgs ?? [];
  return {
    input: {
      name,
      type,
      ...(interval === "" ? {} : { schedule: { interval, timezone } }),
      config: {
        recipe: parsed.json,
        executorId: executor === "" ? DEFAULT_EXECUTOR : executor,
        ...(version === "" ? {} : { version }),
        debugMode: fields.has("debug"),
        ...(extraArgs.length === 0
          ? {}
          : { extraArgs: extraArgs.map(({ key, value }) => ({ key, value: value ?? "" })) }),
      },
    },
  };
}

function Field({
  name,
  label,
  value,
  hint,
  error = null,
  placeholder,
  list,
  isFirst = false,
}: {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  readonly hint?: string;
  readonly error?: string | null;
  readonly placeholder?: string;
  readonly list?: string;
  readonly isFirst?: boolean;
}) {
  const id = `source-${name}`;
  return (
    <div className="form-field">
      <label>
        {label}
        <input
          name={name}
          dir="auto"
          defaultValue={value}
          aria-invalid={error !== null}
          aria-describedby={`${id}-hint ${id}-error`}
          ref={isFirst ? focusOnMount : null}
          {...(placeholder === undefined ? {} : { placeholder })}
          {...(list === undefined ? {} : { list })}
        />
      </label>
      <span id={`${id}-hint`} className="hint">
        {hint}
      </span>
      <span id={`${id}-error`} className="field-error" role="alert">
        {error}
      </span>
    </div>
  );
}
