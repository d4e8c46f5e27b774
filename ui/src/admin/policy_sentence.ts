// A policy as a sentence: "Editors may edit everything in Finance, including subdomains."

import { policyTexts } from "../policy_texts.ts";
import { capitalized } from "../text_forms.ts";
import type { Condition, Named, Policy } from "./policy.ts";
import { wordsOf } from "./privileges.ts";

/** Of more verbs and objects than this, the sentence gives the number. */
const MAX_OBJECTS = 8;

/** Implied by other privileges on the whole asset, so that the sentence does not repeat them. */
const EDIT_EVERYTHING = "EDIT_ENTITY";
const VIEW_EVERYTHING = "VIEW_ENTITY_PAGE";
/** The API's own privileges for what everyone who views an asset can see. */
const VIEWING = new Set(["read", "use"]);

const words = () => policyTexts.sentence;

const namesOf = (values: readonly Named[]) => values.map(({ name }) => name);

function actorsOf(policy: Policy): string | null {
  if (policy.allUsers) return words().everyone;
  const actors = [
    ...policy.roles.map(({ name }) => words().role(name)),
    ...policy.groups.map(({ name }) => words().group(name)),
    ...namesOf(policy.users),
    ...(policy.allGroups ? [words().everyoneInGroups] : []),
    ...(policy.owners && policy.type === "METADATA" ? [ownersOf(policy)] : []),
  ];
  if (actors.length === 0) return null;
  return capitalized(words().and(actors));
}

const ownersOf = ({ ownerTypes }: Policy) =>
  ownerTypes.length === 0 ? words().owners : words().ownersOfTypes(namesOf(ownerTypes));

const typeNames = (values: readonly Named[]) =>
  values.map(({ urn, name }) => policyTexts.types[urn] ?? name);

/** What the policy covers: "all datasets in Finance, including subdomains". */
export function objectOf(conditions: readonly Condition[] | null): string {
  if (conditions === null) return words().everything;
  // Nothing has one of no values.
  if (conditions.some((it) => it.values.length === 0 && it.condition !== "NOT_EQUALS"))
    return words().none;
  const isPlain = ({ field, condition }: Condition, expected: string) =>
    field === expected && condition !== "STARTS_WITH";
  const noun =
    conditions.find((it) => isPlain(it, "TYPE")) ??
    conditions.find((it) => isPlain(it, "URN") && it.condition === "EQUALS");
  const rest = conditions.filter((it) => it !== noun).map(conditionText);
  return words().join(nounOf(noun), rest);
}

function nounOf(noun: Condition | undefined): string {
  if (noun === undefined) return words().everything;
  if (noun.field === "URN") return words().named(namesOf(noun.values));
  const types = typeNames(noun.values);
  return noun.condition === "NOT_EQUALS" ? words().notTyped(types) : words().typed(types);
}

function conditionText({ field, condition, values }: Condition): string {
  const names = field === "TYPE" ? typeNames(values) : namesOf(values);
  const listed = names.length === 0 ? words().none : words().or(names);
  if (condition === "STARTS_WITH") {
    const label = policyTexts.fields[field as keyof typeof policyTexts.fields] ?? field;
    const quoted = values.map(({ urn }) => words().quoted(urn));
    return words().startsWith(label.toLocaleLowerCase(), words().or(quoted));
  }
  const text = words().conditions[field]?.(listed) ?? `${field} ${listed}`;
  return condition === "NOT_EQUALS" ? words().not(text) : text;
}

interface Granted {
  /** The verbs that apply to whole assets. */
  readonly verbs: readonly string[];
  /** What applies to parts: each verb with its objects. */
  readonly parts: string;
}

/** Leaves out what `EDIT_ENTITY` and `VIEW_ENTITY_PAGE` include. */
function grantedBy(policy: Policy): Granted {
  const isMetadata = policy.type === "METADATA";
  const includes = (name: string) => isMetadata && policy.privileges.includes(name);
  const verbs: string[] = [];
  const objects: { readonly verb: string; readonly object: string }[] = [];
  for (const name of policy.privileges) {
    const [verb, object] = wordsOf(name, policy.type);
    if (object === "") verbs.push(verb);
    else if (verb === "edit" && includes(EDIT_EVERYTHING)) continue;
    else if (VIEWING.has(verb) && includes(VIEW_EVERYTHING)) continue;
    else objects.push({ verb, object });
  }
  const shown = objects.slice(0, MAX_OBJECTS);
  const byVerb = new Map<string, string[]>();
  for (const { verb, object } of shown) byVerb.set(verb, [...(byVerb.get(verb) ?? []), object]);
  const parts = [...byVerb].map(([verb, of]) => words().verb(verb, of));
  const hidden = objects.length - shown.length;
  return {
    verbs,
    parts: words().and([...parts, ...(hidden > 0 ? [words().more(hidden)] : [])]),
  };
}

function privilegesOf(policy: Policy): string | null {
  const { verbs, parts } = grantedBy(policy);
  if (verbs.length === 0 && parts === "") return null;
  if (policy.type === "PLATFORM") return parts;
  const object = objectOf(policy.conditions);
  if (verbs.length === 0) return words().on(parts, object);
  const whole = words().whole(verbs, object);
  return parts === "" ? whole : words().also(whole, parts);
}

/** The policy in words, whatever its state. */
export function sentenceOf(policy: Policy): string {
  const actors = actorsOf(policy);
  const privileges = privilegesOf(policy);
  if (privileges === null)
    return actors === null ? words().grantsNothing : words().getNothing(actors);
  const limits = (policy.constraints ?? []).map(({ values }) => words().or(namesOf(values)));
  const limited = limits.length === 0 ? "" : words().limited(words().or(limits));
  return words().all(actors ?? words().nobody, privileges) + limited;
}
