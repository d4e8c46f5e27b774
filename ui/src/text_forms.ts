// The language of the page: how it writes numbers, plurals and lists.

export const LOCALE = "en";

export const count = (number: number) => new Intl.NumberFormat(LOCALE).format(number);
/** Abbreviates large numbers where space is tight. */
export const short = (number: number) =>
  new Intl.NumberFormat(
    LOCALE,
    number < 10_000 ? {} : { notation: "compact", maximumSignificantDigits: 3 },
  ).format(number);

/** A text in every plural form of the language. `#` is replaced by the number. */
type PluralForms = { readonly other: string } & Readonly<
  Partial<Record<Intl.LDMLPluralRule, string>>
>;
const rules = new Intl.PluralRules(LOCALE);
export const plural = (number: number, forms: PluralForms) =>
  (forms[rules.select(number)] ?? forms.other).replaceAll("#", count(number));

const lists = new Intl.ListFormat(LOCALE);
export const list = (names: readonly string[]) => lists.format(names);

/** An error of the server as a sentence. Names and URNs at its beginning stay. */
export function sentence(text: string): string {
  const started = /^\p{Letter}+ /u.test(text) ? capitalized(text) : text;
  return /[\p{Letter}\p{Number}'"”)]$/u.test(started) ? `${started}.` : started;
}

export const capitalized = (text: string) =>
  text.charAt(0).toLocaleUpperCase(LOCALE) + text.slice(1);
