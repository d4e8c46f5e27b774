import { useState } from "react";

import { refreshAll, useApiQuery } from "../api/cache.ts";
import { run } from "../api/client.ts";
import { ErrorMessage, LoadingOrError } from "../components/states.tsx";
import { readablePath } from "../dataset/field_path.ts";
import { formTexts } from "../form_texts.ts";
import {
  ColumnValuesDocument,
  SubmitFormPromptDocument,
  type FormAnswersFragment,
  type FormPromptFragment,
} from "../generated/operations.ts";
import { nameOfProperty } from "../properties/definition.ts";
import { PropertyDialog } from "../trust/property_dialog.tsx";
import type { ValueInput } from "../trust/property_values.ts";
import { PropertyValues } from "../trust/values.tsx";
import { PromptItem } from "./asset_forms.tsx";

const words = formTexts.asset;

interface ColumnPromptProperties {
  readonly urn: string;
  readonly association: FormAnswersFragment;
  readonly prompt: FormPromptFragment;
  readonly canAnswer: boolean;
  readonly onDone: (text: string | null) => void;
}

/** The columns for which a prompt is answered. */
function answeredColumns({ completedPrompts, incompletePrompts }: FormAnswersFragment, id: string) {
  const states = [...(completedPrompts ?? []), ...(incompletePrompts ?? [])];
  const state = states.find((it) => it.id === id);
  const columns = state?.fieldAssociations?.completedFieldPrompts ?? [];
  return new Set(columns.map(({ fieldPath }) => fieldPath));
}

/** A prompt that asks about each column. Several columns can get one answer. */
export function ColumnPrompt({
  urn,
  association,
  prompt,
  canAnswer,
  onDone,
}: ColumnPromptProperties) {
  const [isShown, setShown] = useState(false);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [isOpen, setOpen] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const read = useApiQuery(ColumnValuesDocument, { urn });
  const property = prompt.structuredPropertyParams?.structuredProperty;
  if (property === undefined) return null;
  const fields = read.data?.dataset?.schemaMetadata?.fields ?? [];
  const answered = answeredColumns(association, prompt.id);
  const missing = fields.filter(({ fieldPath }) => !answered.has(fieldPath));
  const entryOf = (path: string) =>
    fields
      .find(({ fieldPath }) => fieldPath === path)
      ?.schemaFieldEntity?.structuredProperties?.properties?.find(
        ({ structuredProperty }) => structuredProperty.urn === property.urn,
      );
  const paths = fields.map(({ fieldPath }) => fieldPath).filter((path) => selected.has(path));
  const start = () => {
    setError(null);
    onDone(null);
    setOpen(true);
  };
  const answer = async (values: readonly ValueInput[]) => {
    setBusy(true);
    setError(null);
    try {
      for (const fieldPath of paths) {
        await run(SubmitFormPromptDocument, {
          urn,
          input: {
            promptId: prompt.id,
            formUrn: association.form.urn,
            type: prompt.type,
            fieldPath,
            structuredPropertyParams: { structuredPropertyUrn: property.urn, values: [...values] },
          },
        });
      }
      setOpen(false);
      setSelected(new Set());
      onDone(words.columnsSaved(paths.length));
    } catch (caught) {
      setError(caught as Error);
    } finally {
      setBusy(false);
      // Columns before the one that failed are answered.
      await refreshAll();
    }
  };
  return (
    <PromptItem prompt={prompt}>
      {read.data === undefined ? (
        <LoadingOrError read={read} lines={1} />
      ) : (
        <p className={missing.length > 0 ? "hint form-missing" : "hint"}>
          {fields.length === 0
            ? words.noColumns
            : words.columns(fields.length - missing.length, fields.length)}
        </p>
      )}
      {fields.length > 0 && (
        <div className="form-prompt-actions">
          <button type="button" aria-expanded={isShown} onClick={() => setShown(!isShown)}>
            {isShown ? words.hideColumns : words.showColumns}
          </button>
          {isShown && canAnswer && missing.length > 0 && (
            <button
              type="button"
              onClick={() => setSelected(new Set(missing.map(({ fieldPath }) => fieldPath)))}
            >
              {words.selectMissing}
            </button>
          )}
          {isShown && paths.length > 0 && (
            <>
              <button type="button" onClick={() => setSelected(new Set())}>
                {words.clearSelection}
              </button>
              <button type="button" className="primary" onClick={start}>
                {words.answerSelected(paths.length)}
              </button>
            </>
          )}
        </div>
      )}
      {isShown && (
        <ColumnTable
          paths={fields.map(({ fieldPath }) => fieldPath)}
          entryOf={entryOf}
          answered={answered}
          selected={selected}
          canAnswer={canAnswer}
          onSelect={setSelected}
        />
      )}
      {!isOpen && error !== null && <ErrorMessage error={error} />}
      {isOpen && (
        <PropertyDialog
          title={prompt.title}
          property={property}
          entry={paths.length === 1 ? entryOf(paths[0] ?? "") : undefined}
          name={nameOfProperty(property)}
          isBusy={isBusy}
          error={error}
          onSave={(values) => void answer(values)}
          onClose={() => setOpen(false)}
        />
      )}
    </PromptItem>
  );
}

type Entry = Parameters<typeof PropertyValues>[0]["entry"];

function ColumnTable({
  paths,
  entryOf,
  answered,
  selected,
  canAnswer,
  onSelect,
}: {
  readonly paths: readonly string[];
  readonly entryOf: (path: string) => Entry | undefined;
  readonly answered: ReadonlySet<string>;
  readonly selected: ReadonlySet<string>;
  readonly canAnswer: boolean;
  readonly onSelect: (selected: ReadonlySet<string>) => void;
}) {
  const toggle = (path: string) => {
    const next = new Set(selected);
    if (!next.delete(path)) next.add(path);
    onSelect(next);
  };
  return (
    <table className="data-table form-columns">
      <thead>
        <tr>
          <th scope="col">{words.column}</th>
          <th scope="col">{words.answer}</th>
        </tr>
      </thead>
      <tbody>
        {paths.map((path) => {
          const entry = entryOf(path);
          const name = readablePath(path);
          return (
            <tr key={path}>
              <th scope="row">
                {canAnswer ? (
                  <label className="choice">
                    <input
                      type="checkbox"
                      aria-label={words.selectColumn(name)}
                      checked={selected.has(path)}
                      onChange={() => toggle(path)}
                    />
                    <span>{name}</span>
                  </label>
                ) : (
                  name
                )}
              </th>
              <td>
                {entry !== undefined && <PropertyValues entry={entry} />}{" "}
                {!answered.has(path) && (
                  <span className="hint form-missing">
                    {entry === undefined ? words.notAnswered : words.presentValue}
                  </span>
                )}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
