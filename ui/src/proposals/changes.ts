// What a proposal changes, in words: the aspects before and after it, compared part by part.

import { readablePath } from "../dataset/field_path.ts";
import { proposalTexts } from "../proposal_texts.ts";
import { texts } from "../texts.ts";

/** A changed aspect, as JSON texts. */
export interface AspectChange {
  readonly urn: string;
  readonly aspectName: string;
  readonly before?: string | null;
  readonly after?: string | null;
}

/** A changed part of an aspect. */
export interface Difference {
  /** What changes, such as "Description of column city". */
  readonly subject: string;
  readonly before: Content;
  readonly after: Content;
  /** If it is a description: the path of its column, or "" for the entity itself. */
  readonly describes?: string;
}

/** A text, or a list of items, each of which may be the URN of an entity. */
export type Content = string | readonly string[];

type Json = null | boolean | number | string | readonly Json[] | JsonObject;
interface JsonObject {
  readonly [name: string]: Json | undefined;
}

/** Who changed something, and when: true of every change, so it says nothing about this one. */
const BOOKKEEPING = new Set([
  "created",
  "lastModified",
  "auditStamp",
  "createStamp",
  "attribution",
]);

/** The lists that are compared item by item: the member of the aspect, and the text of an item. */
const LISTS: Readonly<Record<string, readonly [string, (item: Json) => string]>> = {
  globalTags: ["tags", (item) => textOf(member(item, "tag"))],
  glossaryTerms: ["terms", (item) => textOf(member(item, "urn"))],
  ownership: ["owners", (item) => textOf(member(item, "owner"))],
  domains: ["domains", textOf],
  institutionalMemory: [
    "elements",
    (item) => `${textOf(member(item, "description"))} (${textOf(member(item, "url"))})`,
  ],
};

export function differencesOf(change: AspectChange): readonly Difference[] {
  const before = parse(change.before);
  const after = parse(change.after);
  const found =
    change.aspectName === "editableSchemaMetadata"
      ? columnDifferences(before, after)
      : aspectDifferences(change.aspectName, before, after);
  return found.filter((difference) => !isSame(difference.before, difference.after));
}

/** The URNs in lists of changes, whose names the page shows. */
export function referencesOf(changes: readonly AspectChange[]): readonly string[] {
  const items = changes
    .flatMap(differencesOf)
    .flatMap(({ before, after }) => [before, after].flat())
    .filter((item) => item.startsWith("urn:li:"));
  return [...new Set(items)];
}

/** The entities of which a first edit replaces an imported description, if they have one. */
export function describedFirst(changes: readonly AspectChange[]): readonly string[] {
  const urns = changes
    .filter((change) => differencesOf(change).some(isFirstDescription))
    .map(({ urn }) => urn);
  return [...new Set(urns)];
}

export const isFirstDescription = ({ describes, before }: Difference) =>
  describes !== undefined && before === "";

function aspectDifferences(name: string, before: Json, after: Json): readonly Difference[] {
  const subject = texts.aspects[name] ?? name;
  const list = LISTS[name];
  if (list !== undefined) {
    const [items, textOfItem] = list;
    const compared = {
      subject,
      before: elements(member(before, items)).map(textOfItem),
      after: elements(member(after, items)).map(textOfItem),
    };
    // Else something about the items differs, such as the type of an owner.
    if (!isSame(compared.before, compared.after)) return [compared];
  }
  const description = {
    describes: "",
    subject: proposalTexts.subjects.description,
    before: textOf(member(before, "description")),
    after: textOf(member(after, "description")),
  };
  const [old, next] = [flatten(before), flatten(after)];
  const paths = [...new Set([...old.keys(), ...next.keys()])];
  const others = paths
    .filter((path) => path !== "description")
    .map((path) => ({
      subject: path === "" ? subject : proposalTexts.subjects.member(subject, path),
      before: old.get(path) ?? "",
      after: next.get(path) ?? "",
    }));
  return [description, ...others];
}

function columnDifferences(before: Json, after: Json): readonly Difference[] {
  const [old, next] = [columnsOf(before), columnsOf(after)];
  const paths = [...new Set([...old.keys(), ...next.keys()])];
  return paths.flatMap((path) => {
    const [from, to] = [old.get(path) ?? null, next.get(path) ?? null];
    const column = readablePath(path);
    const { subjects } = proposalTexts;
    return [
      {
        describes: path,
        subject: subjects.columnDescription(column),
        before: textOf(member(from, "description")),
        after: textOf(member(to, "description")),
      },
      { subject: subjects.columnTags(column), ...itemsOf("globalTags", from, to) },
      { subject: subjects.columnTerms(column), ...itemsOf("glossaryTerms", from, to) },
    ];
  });
}

/** The paths of the columns that a change of `editableSchemaMetadata` describes or labels. */
export function changedColumns(change: Omit<AspectChange, "urn">): readonly string[] {
  const [old, next] = [columnsOf(parse(change.before)), columnsOf(parse(change.after))];
  const paths = [...new Set([...old.keys(), ...next.keys()])];
  return paths.filter(
    (path) => JSON.stringify(old.get(path) ?? null) !== JSON.stringify(next.get(path) ?? null),
  );
}

function columnsOf(aspect: Json): ReadonlyMap<string, Json> {
  const columns = elements(member(aspect, "editableSchemaFieldInfo"));
  return new Map(columns.map((column) => [textOf(member(column, "fieldPath")), column]));
}

function itemsOf(name: "globalTags" | "glossaryTerms", from: Json, to: Json) {
  const [items, textOfItem] = LISTS[name] ?? ["", textOf];
  const of = (column: Json) => elements(member(member(column, name), items)).map(textOfItem);
  return { before: of(from), after: of(to) };
}

/** The values inside a value by their path: `customProperties.team`. */
function flatten(value: Json, path = ""): ReadonlyMap<string, string> {
  if (value === null) return new Map();
  if (typeof value !== "object") return new Map([[path, textOf(value)]]);
  const entries: readonly (readonly [string, Json | undefined])[] = Array.isArray(value)
    ? value.map((item, index) => [String(index + 1), item] as const)
    : Object.entries(value);
  return new Map(
    entries
      .filter(([name]) => !BOOKKEEPING.has(name))
      .flatMap(([name, item]) => [
        ...flatten(item ?? null, path === "" ? name : `${path}.${name}`),
      ]),
  );
}

function parse(text: string | null | undefined): Json {
  return text === null || text === undefined ? null : (JSON.parse(text) as Json);
}

function member(value: Json | undefined, name: string): Json {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? ((value as JsonObject)[name] ?? null) : null;
}

const elements = (value: Json): readonly Json[] => (Array.isArray(value) ? value : []);

function textOf(value: Json): string {
  if (value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

const isSame = (left: Content, right: Content) => JSON.stringify(left) === JSON.stringify(right);
