import { useState, type KeyboardEvent } from "react";

import { NamedChips, NamedPicker } from "../admin/named_picker.tsx";
import { FieldProblem } from "../components/validation.tsx";
import type { EntityType } from "../generated/operations.ts";
import { webhookTexts } from "../webhook_texts.ts";
import {
  ENTITY_FILTERS,
  TYPED_FILTERS,
  typedValue,
  type EntityFilter,
  type Filter,
  type FilterName,
  type Problem,
  type TypedFilter,
} from "./settings.ts";

const words = webhookTexts.form;
const { names } = webhookTexts.filters;

/** Values that are suggested; others can be typed. */
const SUGGESTIONS: Readonly<Record<TypedFilter, readonly string[]>> = {
  entityTypes: [
    "dataset",
    "chart",
    "container",
    "corpGroup",
    "corpuser",
    "dashboard",
    "dataFlow",
    "dataJob",
    "dataProduct",
    "domain",
    "glossaryNode",
    "glossaryTerm",
    "incident",
    "mlModel",
    "schemaField",
    "tag",
  ],
  aspects: [
    "datasetProperties",
    "deprecation",
    "domains",
    "editableDatasetProperties",
    "editableSchemaMetadata",
    "globalTags",
    "glossaryTerms",
    "institutionalMemory",
    "ownership",
    "schemaMetadata",
    "status",
    "structuredProperties",
    "upstreamLineage",
  ],
};

const ENTITY_TYPES: Readonly<Record<EntityFilter, EntityType>> = {
  domains: "DOMAIN",
  tags: "TAG",
  actors: "CORP_USER",
};

/** The chosen values, and those that are typed in a field: separated by commas or spaces. */
export function withTyped(chosen: Filter[TypedFilter], text: string): Filter[TypedFilter] {
  const typed = text.split(/[\s,]+/).filter((name) => name !== "");
  const all = new Set([...chosen.map(({ urn }) => urn), ...typed]);
  return [...all].map(typedValue);
}

/** Edits what changes a webhook follows. */
export function FilterFields({
  filter,
  problem,
  onChange,
}: {
  readonly filter: Filter;
  readonly problem: Problem | null;
  readonly onChange: (changed: Partial<Filter>) => void;
}) {
  const problemOf = (name: FilterName) => (problem?.field === name ? problem.text : undefined);
  return (
    <fieldset className="admin-fieldset">
      <legend>{words.filters}</legend>
      <p className="hint">{words.filtersHint}</p>
      {TYPED_FILTERS.map((name) => (
        <TypedField
          key={name}
          name={name}
          chosen={filter[name]}
          problem={problemOf(name)}
          onChange={(chosen) => onChange({ [name]: chosen })}
        />
      ))}
      {ENTITY_FILTERS.map((name) => (
        <div
          key={name}
          role="group"
          aria-label={names[name]}
          data-invalid={problemOf(name) === undefined ? undefined : ""}
        >
          <p className="field-label">{names[name]}</p>
          <p className="hint">{words.hints[name]}</p>
          <NamedPicker
            button={words.addEntity[name]}
            types={[ENTITY_TYPES[name]]}
            words={words.picker}
            chosen={filter[name]}
            onChange={(chosen) => onChange({ [name]: chosen })}
          />
          <FieldProblem name={`webhook-${name}`} text={problemOf(name)} />
        </div>
      ))}
    </fieldset>
  );
}

function TypedField({
  name,
  chosen,
  problem,
  onChange,
}: {
  readonly name: TypedFilter;
  readonly chosen: Filter[TypedFilter];
  readonly problem: string | undefined;
  readonly onChange: (chosen: Filter[TypedFilter]) => void;
}) {
  const [text, setText] = useState("");
  const id = `webhook-${name}`;
  const isEmpty = text.trim() === "";
  const add = () => {
    onChange(withTyped(chosen, text));
    setText("");
  };
  const addOnEnter = (event: KeyboardEvent) => {
    // With Ctrl, Enter saves the form, with what is typed.
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey || isEmpty) return;
    event.preventDefault();
    add();
  };
  return (
    <div className="form-field">
      <label htmlFor={id}>{names[name]}</label>
      <NamedChips chosen={chosen} onChange={onChange} />
      <div className="webhook-value">
        <input
          id={id}
          name={name}
          list={`${id}-suggestions`}
          autoComplete="off"
          spellCheck={false}
          value={text}
          aria-invalid={problem !== undefined}
          aria-describedby={problem === undefined ? `${id}-hint` : `${id}-hint ${id}-problem`}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={addOnEnter}
        />
        <button
          type="button"
          disabled={isEmpty}
          aria-label={words.addTo(names[name])}
          onClick={add}
        >
          {words.add}
        </button>
      </div>
      <datalist id={`${id}-suggestions`}>
        {SUGGESTIONS[name].map((value) => (
          <option key={value} value={value} />
        ))}
      </datalist>
      <span id={`${id}-hint`} className="hint">
        {words.hints[name]}
      </span>
      <FieldProblem name={id} text={problem} />
    </div>
  );
}
