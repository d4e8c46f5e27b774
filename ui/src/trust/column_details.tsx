// What the columns table shows beside names, types and descriptions: labels, foreign keys and the
// shares of empty and distinct values.

import { useMemo, type MouseEvent } from "react";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { EntityLink } from "../components/common.tsx";
import { plainText } from "../components/plain_text.ts";
import { readablePath } from "../dataset/field_path.ts";
import {
  ColumnDetailsDocument,
  type ColumnDetailsQuery,
  type TagLabelFragment,
  type TermLabelFragment,
} from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { trustTexts } from "../trust_texts.ts";
import { ShareBar } from "./plots.tsx";

const words = trustTexts;

type Dataset = NonNullable<ColumnDetailsQuery["dataset"]>;
type ForeignKey = NonNullable<
  NonNullable<NonNullable<Dataset["schemaMetadata"]>["foreignKeys"]>[number]
>;

/** Whether ingestion has set a label; users can only remove the others. */
interface Source {
  readonly isImported: boolean;
}

export interface ColumnDetail {
  readonly tags: readonly (TagLabelFragment & Source)[];
  readonly terms: readonly (TermLabelFragment & Source)[];
  /** The columns that this one refers to. */
  readonly references: readonly {
    readonly path: string;
    readonly dataset: NonNullable<ForeignKey["foreignDataset"]>;
  }[];
  readonly nulls: number | null;
  readonly distinct: number | null;
}

export type Details = ReadonlyMap<string, ColumnDetail>;

const NONE: Details = new Map();

/** Whether the shares of values are known of any column. */
export const hasShares = (details: Details): boolean =>
  [...details.values()].some(({ nulls, distinct }) => nulls !== null || distinct !== null);

/** The details of each column that has some, by path. */
export function useColumnDetails(urn: string) {
  const { data, isPending } = useApiQuery(ColumnDetailsDocument, { urn });
  const dataset = data?.dataset;
  const details = useMemo(() => (dataset == null ? NONE : detailsOf(dataset)), [dataset]);
  return { details, isPending };
}

/** What ingestion and users say about a column. */
interface Labels {
  readonly fieldPath: string;
  readonly tags?: { readonly tags?: readonly { readonly tag: TagLabelFragment }[] | null } | null;
  readonly glossaryTerms?: {
    readonly terms?: readonly { readonly term: TermLabelFragment }[] | null;
  } | null;
}

const tagsOf = (column: Labels | undefined) => (column?.tags?.tags ?? []).map(({ tag }) => tag);
const termsOf = (column: Labels | undefined) =>
  (column?.glossaryTerms?.terms ?? []).map(({ term }) => term);

/** Each label once: those of the schema, then those of users. */
function merged<Label extends { readonly urn: string }>(
  imported: readonly Label[],
  edited: readonly Label[],
): readonly (Label & Source)[] {
  const known = new Set(imported.map(({ urn }) => urn));
  return [
    ...imported.map((label) => ({ ...label, isImported: true })),
    ...edited
      .filter(({ urn }) => !known.has(urn))
      .map((label) => ({ ...label, isImported: false })),
  ];
}

function detailsOf({ schemaMetadata, editableSchemaMetadata, datasetProfiles }: Dataset): Details {
  const byPath = <Item extends { readonly fieldPath: string }>(items: readonly Item[]) =>
    new Map(items.map((item) => [item.fieldPath, item]));
  const edits = byPath<Labels>(editableSchemaMetadata?.editableSchemaFieldInfo ?? []);
  const profiles = byPath(datasetProfiles?.[0]?.fieldProfiles ?? []);
  const details = new Map<string, ColumnDetail>();
  for (const field of schemaMetadata?.fields ?? []) {
    const edited = edits.get(field.fieldPath);
    const profile = profiles.get(field.fieldPath);
    const detail: ColumnDetail = {
      tags: merged(tagsOf(field), tagsOf(edited)),
      terms: merged(termsOf(field), termsOf(edited)),
      references: (schemaMetadata?.foreignKeys ?? []).flatMap((key) =>
        key == null ? [] : referencesOf(key, field.fieldPath),
      ),
      nulls: profile?.nullProportion ?? null,
      distinct: profile?.uniqueProportion ?? null,
    };
    const isEmpty =
      detail.tags.length + detail.terms.length + detail.references.length === 0 &&
      detail.nulls === null &&
      detail.distinct === null;
    if (!isEmpty) details.set(field.fieldPath, detail);
  }
  return details;
}

/** The columns of a key are listed in the same order on both sides. */
function referencesOf(key: ForeignKey, path: string): ColumnDetail["references"] {
  const { sourceFields, foreignFields, foreignDataset } = key;
  if (foreignDataset == null) return [];
  return (sourceFields ?? []).flatMap((source, index) => {
    const target = foreignFields?.[index];
    return source?.fieldPath === path && target != null
      ? [{ path: target.fieldPath, dataset: foreignDataset }]
      : [];
  });
}

/** Tags, terms and foreign keys, below the description. */
export function ColumnLabels({
  detail,
  onFollow,
}: {
  readonly detail: ColumnDetail | undefined;
  /** Follows a link. Its own component in every label would make scrolling slow. */
  readonly onFollow: (event: MouseEvent<HTMLAnchorElement>) => void;
}) {
  if (detail === undefined) return null;
  const { tags, terms, references } = detail;
  if (tags.length + terms.length + references.length === 0) return null;
  return (
    <ul className="chips column-labels">
      {references.map(({ path, dataset }) => {
        const name = readablePath(path);
        return (
          <li key={`${dataset.urn} ${path}`}>
            <a
              className="foreign-key"
              href={addresses.column(dataset.urn, path)}
              title={words.columns.foreignKeyTitle(name, nameOf(dataset))}
              onClick={onFollow}
            >
              {words.columns.foreignKey(`${nameOf(dataset)}.${name}`)}
            </a>
          </li>
        );
      })}
      {tags.map((tag) => (
        <li key={tag.urn} className="chip" title={hint(tag.properties?.description)}>
          {tag.properties?.colorHex != null && (
            <span
              className="tag-dot"
              style={{ backgroundColor: tag.properties.colorHex }}
              aria-hidden="true"
            />
          )}
          <EntityLink entity={tag} onFollow={onFollow} />
        </li>
      ))}
      {terms.map((term) => (
        <li
          key={term.urn}
          className="chip"
          title={hint(term.properties?.definition || term.properties?.description)}
        >
          <EntityLink entity={term} onFollow={onFollow} />
        </li>
      ))}
    </ul>
  );
}

const hint = (text: string | null | undefined) =>
  text == null || text === "" ? undefined : plainText(text);

/** The shares of empty and distinct values, below the type. */
export function ColumnShares({ detail }: { readonly detail: ColumnDetail | undefined }) {
  if (detail === undefined || (detail.nulls === null && detail.distinct === null)) return null;
  return (
    <span className="column-shares">
      {detail.nulls !== null && (
        <ShareBar
          share={detail.nulls}
          title={words.profile.nullTitle(words.percent(detail.nulls))}
          label={words.profile.nulls}
        />
      )}
      {detail.distinct !== null && (
        <ShareBar
          share={detail.distinct}
          title={words.profile.distinctTitle(words.percent(detail.distinct))}
          label={words.profile.distinct}
        />
      )}
    </span>
  );
}
