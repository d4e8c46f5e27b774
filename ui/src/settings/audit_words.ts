// The names of operations, entities and aspects in the audit log, as words.

import { auditTexts } from "../audit_texts.ts";
import { nameOf, urnId, type Nameable } from "../names.ts";
import { capitalized } from "../text_forms.ts";
import { texts } from "../texts.ts";

/** Splits a name such as `updateCorpUserProperties` into words. */
function wordsOf(name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLocaleLowerCase("en")
    .replace(auditTexts.emptyWords, "")
    .replace(/\s+/g, " ")
    .trim();
  return words === "" ? name : capitalized(words);
}

/** An operation in words; the address of a request as it is. */
export function operationName(operation: string): string {
  const known = auditTexts.operations[operation];
  if (known !== undefined) return known;
  const isField = /^[a-z]\w*$/i.test(operation);
  return isField ? wordsOf(operation.replace(/^batch(?=[A-Z])/, "")) : operation;
}

export const aspectName = (aspect: string) => texts.aspects[aspect] ?? wordsOf(aspect);

const typeOf = (urn: string) => urn.split(":")[2] ?? "";

/** The kind of an entity, in words. */
export const kindOf = (urn: string) => auditTexts.types[typeOf(urn)] ?? wordsOf(typeOf(urn));

/** Identifiers that are longer say nothing to a person. */
const MAX_ID = 24;

/** The name of an entity, or the start of its id. */
export function entityName(urn: string, known: Nameable | undefined): string {
  if (known !== undefined) return nameOf(known);
  const id = urnId(urn);
  return id.length > MAX_ID ? `${id.slice(0, MAX_ID)}…` : id;
}
