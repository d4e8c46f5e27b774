import { useRef, useState } from "react";

import { useApiMutation } from "../api/cache.ts";
import { FormDialog, fieldOf } from "../components/form_dialog.tsx";
import { focusOnMount } from "../components/focus.ts";
import {
  CreateStructuredPropertyDocument,
  UpdateStructuredPropertyDocument,
  type AllowedValueInput,
  type ManagedPropertyFragment,
} from "../generated/operations.ts";
import { propertyTexts } from "../property_texts.ts";
import { texts } from "../texts.ts";
import { optionsOf } from "../trust/property_values.ts";
import {
  ENTITY_TYPES,
  VALUE_ENTITY_TYPES,
  VALUE_TYPES,
  canHaveAllowedValues,
  dataTypeUrn,
  entityTypeUrn,
  isOfType,
  nameOfProperty,
  type ValueType,
} from "./definition.ts";

const words = propertyTexts.form;
const ID = /^[A-Za-z0-9_.-]+$/;

interface Problem {
  readonly field: "name" | "id" | "entityTypes" | "allowed";
  readonly text: string;
}

/** Creates a property, or changes one: then it can only allow more than before. */
export function PropertyForm({
  property,
  onSaved,
  onClose,
}: {
  readonly property: ManagedPropertyFragment | null;
  readonly onSaved: (name: string) => void;
  readonly onClose: () => void;
}) {
  const create = useApiMutation(CreateStructuredPropertyDocument);
  const update = useApiMutation(UpdateStructuredPropertyDocument);
  const definition = property?.definition;
  const [type, setType] = useState(definition?.valueType.info.type ?? "STRING");
  const [problem, setProblem] = useState<Problem | null>(null);
  const present = property === null ? [] : optionsOf(property);
  const name = property === null ? "" : nameOfProperty(property);
  const errorOf = (field: Problem["field"]) => (problem?.field === field ? problem.text : null);

  const submit = (form: FormData) => {
    const displayName = fieldOf(form, "name");
    const id = fieldOf(form, "id");
    const allowed = allowedValues(form, type === "NUMBER");
    const entityTypes = form.getAll("entityType").map(String);
    const allowedTypes = form.getAll("allowedType").map(String);
    const found = problemOf(
      displayName,
      id,
      allowed,
      entityTypes.length + (definition?.entityTypes.length ?? 0),
    );
    setProblem(found);
    if (found !== null || "error" in allowed) return;
    const common = {
      displayName,
      description: fieldOf(form, "description"),
      immutable: form.has("immutable"),
      settings: { isHidden: form.has("hidden") },
    };
    const done = { onSuccess: () => onSaved(displayName) };
    if (property === null) {
      create.mutate(
        {
          input: {
            ...common,
            ...(id === "" ? {} : { id }),
            valueType: dataTypeUrn(type as ValueType),
            cardinality: form.has("multiple") ? "MULTIPLE" : "SINGLE",
            entityTypes,
            ...(allowed.values.length === 0 ? {} : { allowedValues: allowed.values }),
            ...(allowedTypes.length === 0 ? {} : { typeQualifier: { allowedTypes } }),
          },
        },
        done,
      );
    } else {
      update.mutate(
        {
          input: {
            ...common,
            urn: property.urn,
            ...(form.has("multiple") ? { setCardinalityAsMultiple: true } : {}),
            ...(allowed.values.length === 0 ? {} : { newAllowedValues: allowed.values }),
            ...(entityTypes.length === 0 ? {} : { newEntityTypes: entityTypes }),
            ...(allowedTypes.length === 0
              ? {}
              : { typeQualifier: { newAllowedTypes: allowedTypes } }),
          },
        },
        done,
      );
    }
  };

  // A property that allows any value cannot be limited later.
  const hasAllowedValues = canHaveAllowedValues(type) && (property === null || present.length > 0);
  const allowedTypes = definition?.typeQualifier?.allowedTypes?.map(({ urn }) => urn) ?? [];
  const hasAllowedTypes = type === "URN" && (property === null || allowedTypes.length > 0);
  return (
    <FormDialog
      title={property === null ? words.createTitle : words.editTitle(name)}
      submit={property === null ? words.createButton : words.save}
      isBusy={create.isPending || update.isPending}
      error={create.error ?? update.error}
      onSubmit={submit}
      onClose={onClose}
    >
      <div className="form-field">
        <label>
          {words.name}
          <input
            name="name"
            dir="auto"
            defaultValue={name}
            ref={focusOnMount}
            aria-invalid={errorOf("name") !== null}
            aria-describedby="property-name-error"
          />
        </label>
        <FieldError id="property-name-error" text={errorOf("name")} />
      </div>
      {property === null && (
        <div className="form-field">
          <label>
            <span>
              {words.id} <span className="hint">{words.optional}</span>
            </span>
            <input
              name="id"
              aria-invalid={errorOf("id") !== null}
              aria-describedby="property-id-hint property-id-error"
            />
          </label>
          <span id="property-id-hint" className="hint">
            {words.idHint}
          </span>
          <FieldError id="property-id-error" text={errorOf("id")} />
        </div>
      )}
      <label>
        {words.description}
        <textarea
          name="description"
          dir="auto"
          rows={2}
          defaultValue={definition?.description ?? ""}
        />
      </label>
      {property === null ? (
        <label>
          {words.type}
          <select value={type} onChange={(event) => setType(event.target.value as ValueType)}>
            {VALUE_TYPES.map((option) => (
              <option key={option} value={option}>
                {propertyTexts.types[option]}
              </option>
            ))}
          </select>
        </label>
      ) : (
        <p className="hint">
          {words.fixedType(propertyTexts.types[type])}. {words.onlyMore}
        </p>
      )}
      {hasAllowedTypes && (
        <TypeChoices
          legend={words.allowedTypes}
          name="allowedType"
          types={VALUE_ENTITY_TYPES}
          fixed={allowedTypes}
          hint={property === null ? words.allowedTypesHint : null}
        />
      )}
      {hasAllowedValues && (
        <AllowedValues
          key={type}
          present={present}
          hint={property === null ? words.allowedHint : null}
          error={errorOf("allowed")}
        />
      )}
      <TypeChoices
        legend={words.entityTypes}
        name="entityType"
        types={ENTITY_TYPES}
        fixed={definition?.entityTypes.map(({ urn }) => urn) ?? []}
        error={errorOf("entityTypes")}
      />
      <div>
        {definition?.cardinality === "MULTIPLE" ? (
          <p className="hint">{words.multipleFixed}</p>
        ) : (
          <label className="choice">
            <input type="checkbox" name="multiple" />
            {words.multiple}
          </label>
        )}
        <label className="choice">
          <input type="checkbox" name="immutable" defaultChecked={definition?.immutable ?? false} />
          {words.immutable}
        </label>
        <label className="choice">
          <input
            type="checkbox"
            name="hidden"
            defaultChecked={property?.settings?.isHidden ?? false}
          />
          {words.hidden}
        </label>
      </div>
    </FormDialog>
  );
}

function FieldError({ id, text }: { readonly id?: string; readonly text: string | null }) {
  return (
    <span id={id} className="field-error" role="alert">
      {text}
    </span>
  );
}

type ParsedValues = { readonly values: AllowedValueInput[] } | { readonly error: string };

/** The allowed values that were typed. Rows without a value are ignored. */
function allowedValues(form: FormData, isNumber: boolean): ParsedValues {
  const meanings = form.getAll("meaning").map((text) => String(text).trim());
  const typed = form.getAll("allowedValue").map((text) => String(text).trim());
  const values: AllowedValueInput[] = [];
  for (const [index, text] of typed.entries()) {
    if (text === "") continue;
    if (isNumber && !Number.isFinite(Number(text))) return { error: words.numberInvalid(text) };
    const meaning = meanings[index] ?? "";
    values.push({
      ...(isNumber ? { numberValue: Number(text) } : { stringValue: text }),
      ...(meaning === "" ? {} : { description: meaning }),
    });
  }
  return { values };
}

function problemOf(
  name: string,
  id: string,
  allowed: ParsedValues,
  entityTypes: number,
): Problem | null {
  if (name === "") return { field: "name", text: words.nameMissing };
  if (id !== "" && !ID.test(id)) return { field: "id", text: words.idInvalid };
  if ("error" in allowed) return { field: "allowed", text: allowed.error };
  if (entityTypes === 0) return { field: "entityTypes", text: words.entityTypesMissing };
  return null;
}

/** Types of entities to choose from. Those that are allowed already cannot be removed. */
function TypeChoices({
  legend,
  name,
  types,
  fixed,
  hint = null,
  error = null,
}: {
  readonly legend: string;
  readonly name: string;
  readonly types: typeof ENTITY_TYPES;
  readonly fixed: readonly string[];
  readonly hint?: string | null;
  readonly error?: string | null;
}) {
  return (
    <fieldset className="admin-fieldset">
      <legend>{legend}</legend>
      <div className="choices narrow-choices">
        {types.map(([type, typeName]) => {
          const isFixed = fixed.some((urn) => isOfType(urn, typeName));
          return (
            <label key={type} className="choice">
              <input
                type="checkbox"
                name={name}
                value={entityTypeUrn(typeName)}
                defaultChecked={isFixed}
                disabled={isFixed}
              />
              {texts.entityTypes[type]?.many ?? type}
            </label>
          );
        })}
      </div>
      {hint !== null && <p className="hint">{hint}</p>}
      <FieldError text={error} />
    </fieldset>
  );
}

/** The values that are allowed, and fields for more. */
function AllowedValues({
  present,
  hint,
  error,
}: {
  readonly present: ReturnType<typeof optionsOf>;
  readonly hint: string | null;
  readonly error: string | null;
}) {
  const nextKey = useRef(0);
  const [keys, setKeys] = useState<readonly number[]>([]);
  return (
    <fieldset className="admin-fieldset">
      <legend>{words.allowed}</legend>
      {present.length > 0 && (
        <ul className="allowed-values">
          {present.map(({ text, description }) => (
            <li key={text} dir="auto">
              {text}
              {description != null && <span className="hint"> {description}</span>}
            </li>
          ))}
        </ul>
      )}
      {keys.map((key, index) => {
        const position = present.length + index + 1;
        return (
          <div key={key} className="allowed-value">
            <input
              name="allowedValue"
              dir="auto"
              placeholder={words.value}
              aria-label={words.valueOf(position)}
              ref={focusOnMount}
            />
            <input
              name="meaning"
              dir="auto"
              placeholder={words.meaning}
              aria-label={words.meaningOf(position)}
            />
            <button
              type="button"
              className="chip-remove"
              aria-label={words.removeValue(position)}
              onClick={() => setKeys(keys.filter((other) => other !== key))}
            >
              ✕
            </button>
          </div>
        );
      })}
      <button
        type="button"
        onClick={() => {
          nextKey.current += 1;
          setKeys([...keys, nextKey.current]);
        }}
      >
        {words.addValue}
      </button>
      {hint !== null && <p className="hint">{hint}</p>}
      <FieldError text={error} />
    </fieldset>
  );
}
