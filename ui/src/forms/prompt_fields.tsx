import { useState } from "react";

import { useApiQuery } from "../api/cache.ts";
import { LoadingOrError } from "../components/states.tsx";
import { FieldProblem, invalidIf } from "../components/validation.tsx";
import { formTexts } from "../form_texts.ts";
import {
  PropertyDefinitionsDocument,
  type FormPromptType,
  type ManagedPropertyFragment,
} from "../generated/operations.ts";
import { isOfType, nameOfProperty } from "../properties/definition.ts";
import type { PromptDraft } from "./draft.ts";

const words = formTexts.editor;
/** How many properties there are to choose from. */
const MAX_PROPERTIES = 500;

/** What a prompt can be about, with the type of entity that has the values. */
const SUBJECTS: ReadonlyArray<readonly [type: FormPromptType, entityType: string]> = [
  ["STRUCTURED_PROPERTY", "dataset"],
  ["FIELDS_STRUCTURED_PROPERTY", "schemaField"],
];

const isFor = ({ definition }: ManagedPropertyFragment, entityType: string) =>
  definition.entityTypes.some(({ urn }) => isOfType(urn, entityType));

/** What a prompt for a property can be about. */
const subjectsOf = (property: ManagedPropertyFragment) =>
  SUBJECTS.filter(([, entityType]) => isFor(property, entityType)).map(([type]) => type);

/** What keeps a form from being stored, and which field that is. */
export type FormProblem =
  | { readonly field: "name" | "who"; readonly text: string }
  | { readonly field: "title" | "property"; readonly prompt: number; readonly text: string };

/** The prompts of a form, each with its fields. */
export function PromptFields({
  prompts,
  problem,
  onChange,
}: {
  readonly prompts: readonly PromptDraft[];
  readonly problem: FormProblem | null;
  readonly onChange: (prompts: readonly PromptDraft[]) => void;
}) {
  const read = useApiQuery(PropertyDefinitionsDocument, {
    query: "*",
    start: 0,
    count: MAX_PROPERTIES,
  });
  // Keys that stay with the prompts when others are removed.
  const [keys, setKeys] = useState<readonly number[]>(() => prompts.map((_, index) => index));
  if (read.data === undefined) return <LoadingOrError read={read} lines={3} />;
  const found = read.data.searchAcrossEntities;
  const properties = (found?.searchResults ?? []).flatMap(({ entity }) =>
    "definition" in entity && subjectsOf(entity).length > 0 ? [entity] : [],
  );
  if (properties.length === 0) return <p className="hint">{words.noProperties}</p>;
  const all = keys.length < prompts.length ? extended(keys, prompts.length) : keys;
  return (
    <>
      {(found?.total ?? 0) > MAX_PROPERTIES && (
        <p className="hint">{words.moreProperties(MAX_PROPERTIES)}</p>
      )}
      {prompts.map((prompt, index) => (
        <PromptEntry
          key={all[index]}
          position={index + 1}
          prompt={prompt}
          properties={properties}
          problemOf={(field) =>
            problem?.field === field && problem.prompt === index ? problem.text : undefined
          }
          onChange={(changed) =>
            onChange(prompts.map((it, at) => (at === index ? { ...it, ...changed } : it)))
          }
          onRemove={() => {
            setKeys(all.filter((_, at) => at !== index));
            onChange(prompts.filter((_, at) => at !== index));
          }}
        />
      ))}
    </>
  );
}

/** More keys, none of which was used. */
function extended(keys: readonly number[], length: number): readonly number[] {
  const next = Math.max(-1, ...keys) + 1;
  return [...keys, ...Array.from({ length: length - keys.length }, (_, index) => next + index)];
}

function PromptEntry({
  position,
  prompt,
  properties,
  problemOf,
  onChange,
  onRemove,
}: {
  readonly position: number;
  readonly prompt: PromptDraft;
  readonly properties: readonly ManagedPropertyFragment[];
  readonly problemOf: (field: "title" | "property") => string | undefined;
  readonly onChange: (changed: Partial<PromptDraft>) => void;
  readonly onRemove: () => void;
}) {
  const chosen = properties.find(({ urn }) => urn === prompt.property?.urn);
  const subjects = chosen === undefined ? [] : subjectsOf(chosen);
  const choose = (urn: string) => {
    const property = properties.find((it) => it.urn === urn);
    if (property === undefined) {
      onChange({ property: null });
      return;
    }
    const possible = subjectsOf(property);
    onChange({
      property: { urn, name: nameOfProperty(property) },
      type: possible.includes(prompt.type) ? prompt.type : (possible[0] ?? prompt.type),
    });
  };
  return (
    <fieldset className="admin-fieldset prompt-entry">
      <legend>{words.promptTitle(position)}</legend>
      <label>
        <span className="visually-hidden">{words.promptTitle(position)}</span>
        <input
          dir="auto"
          placeholder={words.titlePlaceholder}
          defaultValue={prompt.title}
          {...invalidIf(`title-${position}`, problemOf("title"))}
          onChange={(event) => onChange({ title: event.target.value })}
        />
      </label>
      <FieldProblem name={`title-${position}`} text={problemOf("title")} />
      {prompt.id === null ? (
        <div className="prompt-choices">
          <select
            aria-label={words.property(position)}
            {...invalidIf(`property-${position}`, problemOf("property"))}
            value={prompt.property?.urn ?? ""}
            onChange={(event) => choose(event.target.value)}
          >
            <option value="">{words.chooseProperty}</option>
            {properties.map((property) => (
              <option key={property.urn} value={property.urn}>
                {nameOfProperty(property)}
              </option>
            ))}
          </select>
          {subjects.length > 0 && (
            <select
              aria-label={words.about(position)}
              value={prompt.type}
              onChange={(event) => onChange({ type: event.target.value as FormPromptType })}
            >
              {subjects.map((type) => (
                <option key={type} value={type}>
                  {formTexts.about[type]}
                </option>
              ))}
            </select>
          )}
        </div>
      ) : (
        <p className="hint">
          {words.fixed(prompt.property?.name ?? "", formTexts.about[prompt.type])}
        </p>
      )}
      <FieldProblem name={`property-${position}`} text={problemOf("property")} />
      <label>
        <span className="visually-hidden">{words.promptDescription(position)}</span>
        <input
          dir="auto"
          placeholder={words.descriptionLabel}
          defaultValue={prompt.description}
          onChange={(event) => onChange({ description: event.target.value })}
        />
      </label>
      <div className="prompt-choices">
        <label className="choice">
          <input
            type="checkbox"
            aria-label={words.required(position)}
            checked={prompt.required}
            onChange={(event) => onChange({ required: event.target.checked })}
          />
          {words.requiredLabel}
        </label>
        <button type="button" className="subtle" onClick={onRemove}>
          {words.removePrompt(position)}
        </button>
      </div>
    </fieldset>
  );
}
