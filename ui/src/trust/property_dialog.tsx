import { useState, type FormEvent } from "react";

import type { Named } from "../admin/policy.ts";
import { Dialog } from "../components/dialog.tsx";
import { focusOnMount } from "../components/focus.ts";
import { ErrorMessage } from "../components/states.tsx";
import { useUnsaved } from "../components/unsaved.ts";
import type {
  PropertyDefinitionFragment,
  PropertyValuesFragment,
} from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { EntityValues } from "../properties/entity_values.tsx";
import { texts } from "../texts.ts";
import { trustTexts } from "../trust_texts.ts";
import { linesOf, optionsOf, parseValues, type ValueInput } from "./property_values.ts";

const words = trustTexts.properties;

/** A form for the values of a structured property, as its definition allows them. */
export function PropertyDialog({
  property,
  entry,
  name,
  title,
  isBusy,
  error,
  onSave,
  onClose,
}: {
  readonly property: PropertyDefinitionFragment;
  readonly entry: PropertyValuesFragment | undefined;
  readonly name: string;
  /** Replaces the title that names the property. */
  readonly title?: string;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly onSave: (values: readonly ValueInput[]) => void;
  readonly onClose: () => void;
}) {
  const [problem, setProblem] = useState<string | null>(null);
  const { definition } = property;
  const isMultiple = definition.cardinality === "MULTIPLE";
  const options = optionsOf(property);
  // Fixed at the start: the values may be refreshed while the user types.
  const [before] = useState(() => (entry === undefined ? [] : linesOf(entry)));
  const isEntity = definition.valueType.info.type === "URN" && options.length === 0;
  const [beforeEntities] = useState(() => entitiesOf(entry));
  const [entities, setEntities] = useState(beforeEntities);
  useUnsaved(() => urnsOf(entities) !== urnsOf(beforeEntities));
  // Markdown has several lines, so each value has a field of its own, and there is one for a new
  // value.
  const isText = definition.valueType.info.type === "RICH_TEXT";
  const isLines = isMultiple && !isText;
  const fields = isLines ? [before.join("\n")] : isMultiple ? [...before, ""] : [before[0] ?? ""];
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const typed = isEntity
      ? entities.map(({ urn }) => urn)
      : new FormData(event.currentTarget).getAll("value").map(String);
    const separate = isLines ? typed.flatMap((text) => text.split("\n")) : typed;
    const lines = separate.map((text) => text.trim()).filter((text) => text !== "");
    const parsed =
      lines.length === 0 ? { error: words.valueMissing } : parseValues(property, lines);
    setProblem("error" in parsed ? parsed.error : null);
    if ("values" in parsed) onSave(parsed.values);
  };
  const described = { "aria-invalid": problem !== null, "aria-describedby": "value-error" };
  return (
    <Dialog title={title ?? words.editTitle(name)} isOpen onClose={onClose}>
      <form className="trust-form" noValidate onSubmit={submit}>
        {definition.description != null && (
          <p className="hint" dir="auto">
            {definition.description}
          </p>
        )}
        {options.length > 0 ? (
          <fieldset className="value-options" {...described}>
            <legend className="visually-hidden">{words.value}</legend>
            {options.map(({ text, description }) => (
              <label key={text}>
                <input
                  type={isMultiple ? "checkbox" : "radio"}
                  name="value"
                  value={text}
                  defaultChecked={before.includes(text)}
                />
                <span>
                  <span dir="auto">{text}</span>
                  {description != null && <span className="hint"> {description}</span>}
                </span>
              </label>
            ))}
          </fieldset>
        ) : isEntity ? (
          <EntityValues property={property} chosen={entities} onChange={setEntities} />
        ) : (
          fields.map((text, index) => (
            <label key={index}>
              {isLines ? words.linesHint : words.value}
              {isLines || isText ? (
                <textarea
                  name="value"
                  dir="auto"
                  rows={4}
                  ref={index === 0 ? focusOnMount : null}
                  defaultValue={text}
                  {...described}
                />
              ) : (
                <input
                  name="value"
                  dir="auto"
                  ref={focusOnMount}
                  defaultValue={text}
                  {...described}
                />
              )}
            </label>
          ))
        )}
        <span id="value-error" className="field-error" role="alert">
          {problem}
        </span>
        {error !== null && <ErrorMessage error={error} />}
        <div className="dialog-actions">
          <button type="button" onClick={onClose}>
            {texts.common.cancel}
          </button>
          <button type="submit" className="primary" disabled={isBusy}>
            {words.save}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** The entities that are values now. Those that are missing have no name but their URN. */
function entitiesOf(entry: PropertyValuesFragment | undefined): readonly Named[] {
  const named = new Map(
    (entry?.valueEntities ?? []).flatMap((entity) =>
      entity === null ? [] : [[entity.urn, nameOf(entity)] as const],
    ),
  );
  const urns = entry === undefined ? [] : linesOf(entry);
  return urns.map((urn) => ({ urn, name: named.get(urn) ?? urn }));
}

const urnsOf = (entities: ReadonlyArray<{ readonly urn: string }>) =>
  entities.map(({ urn }) => urn).join("\n");
