import { useState } from "react";

import type { EntityType, PolicyMatchCondition } from "../generated/operations.ts";
import { policyTexts } from "../policy_texts.ts";
import { FieldProblem } from "../components/validation.tsx";
import { Select } from "./common.tsx";
import { NamedChips, NamedPicker } from "./named_picker.tsx";
import { shortOf, type Condition } from "./policy.ts";

type Field = keyof typeof policyTexts.fields;

/** What each field is compared with; nothing for URNs that are typed. */
const ENTITY_TYPES: Readonly<Record<Exclude<Field, "TYPE">, readonly EntityType[]>> = {
  DOMAIN: ["DOMAIN"],
  CONTAINER: ["CONTAINER"],
  TAG: ["TAG"],
  GLOSSARY: ["GLOSSARY_TERM", "GLOSSARY_NODE"],
  OWNER: ["CORP_USER", "CORP_GROUP"],
  URN: ["DATASET", "DASHBOARD", "CHART", "DATA_FLOW", "DATA_JOB", "DATA_PRODUCT", "DOMAIN"],
  GROUP_MEMBERSHIP: ["CORP_GROUP"],
  DATA_PLATFORM_INSTANCE: [],
};

interface ConditionsProperties {
  /** `null` for all assets. */
  readonly conditions: readonly Condition[] | null;
  /** What is wrong with them, if they are not complete. */
  readonly problem: string | undefined;
  readonly onChange: (conditions: readonly Condition[] | null) => void;
}

const NEW_CONDITION: Condition = { field: "DOMAIN", condition: "EQUALS", values: [] };

/** What an asset must meet to be covered by a policy. */
export function ConditionsEditor({ conditions, problem, onChange }: ConditionsProperties) {
  const words = policyTexts.form;
  const list = conditions ?? [];
  const replace = (index: number, changed: Condition) =>
    onChange(list.map((condition, at) => (at === index ? changed : condition)));
  return (
    <>
      <label className="choice">
        <input
          type="radio"
          name="covers"
          checked={conditions === null}
          onChange={() => onChange(null)}
        />
        {words.everything}
      </label>
      <label className="choice">
        <input
          type="radio"
          name="covers"
          checked={conditions !== null}
          onChange={() => onChange([NEW_CONDITION])}
        />
        {words.some}
      </label>
      {list.map((condition, index) => (
        <ConditionEditor
          // Conditions have no identity of their own, and only the last one is added.
          key={index}
          number={index + 1}
          condition={condition}
          problem={condition.values.length === 0 ? problem : undefined}
          onChange={(changed) => replace(index, changed)}
          onRemove={() => onChange(list.filter((_, at) => at !== index))}
        />
      ))}
      {conditions !== null && (
        <div data-invalid={problem !== undefined && list.length === 0 ? "" : undefined}>
          <button type="button" onClick={() => onChange([...list, NEW_CONDITION])}>
            {words.addCondition}
          </button>
          {list.length === 0 && <FieldProblem name="conditions" text={problem} />}
        </div>
      )}
    </>
  );
}

function ConditionEditor({
  number,
  condition,
  problem,
  onChange,
  onRemove,
}: {
  readonly number: number;
  readonly condition: Condition;
  readonly problem: string | undefined;
  readonly onChange: (condition: Condition) => void;
  readonly onRemove: () => void;
}) {
  const words = policyTexts.form;
  return (
    <div className="condition" role="group" aria-label={words.condition(number)}>
      <div className="condition-header">
        <Select
          label={words.field}
          options={policyTexts.fields}
          value={condition.field}
          onChange={(field) => onChange({ ...condition, field, values: [] })}
        />
        <Select
          label={words.comparison}
          options={policyTexts.comparisons}
          value={condition.condition}
          onChange={(comparison) => {
            const isText = [comparison, condition.condition].includes("STARTS_WITH");
            const values = isText ? [] : condition.values;
            onChange({ ...condition, condition: comparison as PolicyMatchCondition, values });
          }}
        />
        <button
          type="button"
          className="subtle"
          aria-label={words.removeCondition(number)}
          onClick={onRemove}
        >
          ✕
        </button>
      </div>
      <div data-invalid={problem === undefined ? undefined : ""}>
        <Values condition={condition} onChange={onChange} />
        <FieldProblem name={`condition-${number}`} text={problem} />
      </div>
    </div>
  );
}

function Values({
  condition,
  onChange,
}: {
  readonly condition: Condition;
  readonly onChange: (condition: Condition) => void;
}) {
  const words = policyTexts.form;
  const { field, values } = condition;
  const change = (changed: Condition["values"]) => onChange({ ...condition, values: changed });
  if (field === "TYPE" && condition.condition !== "STARTS_WITH") {
    const known = Object.entries(policyTexts.types);
    return (
      <div className="choices" role="group" aria-label={words.values}>
        {known.map(([type, name]) => (
          <label key={type} className="choice">
            <input
              type="checkbox"
              checked={values.some(({ urn }) => urn === type)}
              onChange={(event) =>
                change(
                  event.target.checked
                    ? [...values, { urn: type, name: type }]
                    : values.filter(({ urn }) => urn !== type),
                )
              }
            />
            {name}
          </label>
        ))}
      </div>
    );
  }
  const types = Object.hasOwn(ENTITY_TYPES, field)
    ? ENTITY_TYPES[field as keyof typeof ENTITY_TYPES]
    : [];
  if (types.length === 0 || condition.condition === "STARTS_WITH")
    return <TextValues values={values} onChange={change} />;
  return (
    <NamedPicker
      button={words.addValue}
      types={[...types]}
      words={{
        filter: words.valueFilter,
        list: words.valueList,
        chosen: words.chosen,
        noMatch: words.noMatch,
      }}
      chosen={values}
      onChange={change}
    />
  );
}

/** Values that are typed: the beginnings of URNs, and URNs of what no search finds. */
function TextValues({
  values,
  onChange,
}: {
  readonly values: Condition["values"];
  readonly onChange: (values: Condition["values"]) => void;
}) {
  const words = policyTexts.form;
  const [text, setText] = useState("");
  const value = text.trim();
  const add = () => {
    if (value === "" || values.some(({ urn }) => urn === value)) return;
    onChange([...values, { urn: value, name: shortOf(value) }]);
    setText("");
  };
  return (
    <>
      <NamedChips chosen={values} onChange={onChange} />
      <div className="condition-text">
        <input
          aria-label={words.valueText}
          placeholder={words.valueText}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            add();
          }}
        />
        <button type="button" disabled={value === ""} onClick={add}>
          {words.add}
        </button>
      </div>
    </>
  );
}
