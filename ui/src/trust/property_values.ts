// The values of structured properties, as text and as the API takes them.

import type {
  PropertyDefinitionFragment,
  PropertyValuesFragment,
} from "../generated/operations.ts";
import { trustTexts } from "../trust_texts.ts";
import { texts } from "../texts.ts";

export type ValueInput = { readonly stringValue: string } | { readonly numberValue: number };

type Value = NonNullable<PropertyValuesFragment["values"][number]>;

/** A value as it is typed. */
const typed = (value: Value) =>
  "stringValue" in value ? value.stringValue : String(value.numberValue);

const valuesOf = (entry: PropertyValuesFragment): readonly Value[] =>
  entry.values.filter((value) => value !== null);

export const linesOf = (entry: PropertyValuesFragment) => valuesOf(entry).map(typed);

/** The values as one line of text. */
export const textOf = (entry: PropertyValuesFragment) =>
  texts.list(
    valuesOf(entry).map((value) =>
      "stringValue" in value ? value.stringValue : texts.number(value.numberValue),
    ),
  );

export const inputsOf = (entry: PropertyValuesFragment): readonly ValueInput[] =>
  valuesOf(entry).map((value) =>
    "stringValue" in value
      ? { stringValue: value.stringValue }
      : { numberValue: value.numberValue },
  );

/** The allowed values as options: the text that is typed, and what explains it. */
export const optionsOf = ({ definition }: PropertyDefinitionFragment) =>
  (definition.allowedValues ?? []).map(({ value, description }) => ({
    text: typed(value),
    description,
  }));

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const words = trustTexts.properties;

/** The typed texts as values, or what is wrong with them. */
export function parseValues(
  { definition }: PropertyDefinitionFragment,
  lines: readonly string[],
): { readonly values: readonly ValueInput[] } | { readonly error: string } {
  const { type } = definition.valueType.info;
  const wrong = lines.map((line) => problemOf(type, line)).find((problem) => problem !== null);
  if (wrong !== undefined) return { error: wrong };
  return {
    values: lines.map((line) =>
      type === "NUMBER" ? { numberValue: Number(line) } : { stringValue: line },
    ),
  };
}

function problemOf(type: string, line: string): string | null {
  if (type === "NUMBER" && !Number.isFinite(Number(line))) return words.numberInvalid(line);
  if (type === "DATE" && !(DATE.test(line) && !Number.isNaN(Date.parse(line))))
    return words.dateInvalid(line);
  if (type === "URN" && !line.startsWith("urn:li:")) return words.urnInvalid(line);
  return null;
}
