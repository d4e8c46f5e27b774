// Forms and their state, as the page shows them.

import { formTexts } from "../form_texts.ts";
import type {
  FormActorsFragment,
  FormCountsQuery,
  FormSummaryFragment,
} from "../generated/operations.ts";
import { nameOf, urnId } from "../names.ts";
import { texts } from "../texts.ts";

export type FormState = keyof typeof formTexts.states;

/** The fields of the search index with the URNs of forms, by their state. */
export const STATE_FIELDS = {
  incomplete: "incompleteForms",
  complete: "completedForms",
  verified: "verifiedForms",
} as const satisfies Readonly<Record<FormState, string>>;

interface StoredForms<Association> {
  readonly incompleteForms: readonly Association[];
  readonly completedForms: readonly Association[];
  readonly verifications: ReadonlyArray<{ readonly form: { readonly urn: string } }>;
}

/** The forms of an asset with their states, incomplete ones first. */
export function formsOf<Association extends { readonly form: { readonly urn: string } }>(
  forms: StoredForms<Association> | null | undefined,
): ReadonlyArray<{ readonly association: Association; readonly state: FormState }> {
  if (forms === null || forms === undefined) return [];
  const verified = new Set(forms.verifications.map(({ form }) => form.urn));
  return [
    ...forms.incompleteForms.map((association) => ({ association, state: "incomplete" as const })),
    ...forms.completedForms.map((association) => ({
      association,
      state: verified.has(association.form.urn) ? ("verified" as const) : ("complete" as const),
    })),
  ];
}

/** How many of the prompts that a form has now are answered. */
export function answeredOf({ form, completedPrompts }: FormSummaryFragment): number {
  const present = new Set(form.info.prompts.map(({ id }) => id));
  return (completedPrompts ?? []).filter(({ id }) => present.has(id)).length;
}

/** Who answers a form, as a list of names. */
export function assigneesOf(actors: FormActorsFragment): string {
  const words = formTexts.asset;
  const types = (actors.ownershipTypes ?? []).map(({ urn, info }) => info?.name ?? urnId(urn));
  const owners = !actors.owners
    ? []
    : [types.length === 0 ? words.owners : words.ownersOfTypes(types)];
  const named = [...(actors.users ?? []), ...(actors.groups ?? [])].map(nameOf);
  const all = [...owners, ...named];
  return all.length === 0 ? words.nobody : texts.list(all);
}

/** How many datasets have a form in each state. A verified form is complete, too. */
export function countsOf(
  data: FormCountsQuery | undefined,
  form: string,
): Readonly<Record<FormState | "assigned", number>> {
  const of = (state: FormState) =>
    data?.aggregateAcrossEntities?.facets
      ?.find(({ field }) => field === STATE_FIELDS[state])
      ?.aggregations.find(({ value }) => value === form)?.count ?? 0;
  const [incomplete, complete] = [of("incomplete"), of("complete")];
  return { incomplete, complete, verified: of("verified"), assigned: incomplete + complete };
}
