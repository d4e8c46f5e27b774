import { useState } from "react";

import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { EmptyState, LoadingOrError, StaleNotice } from "../components/states.tsx";
import { SectionHeader } from "../components/sections.tsx";
import { UndoNotice, useUndo } from "../components/undo.tsx";
import {
  DatasetPropertiesDocument,
  RemoveStructuredPropertyDocument,
  SetStructuredPropertyDocument,
  type DatasetPropertiesQuery,
  type PropertyDefinitionFragment,
  type PropertyValuesFragment,
} from "../generated/operations.ts";
import { nameOfProperty } from "../properties/definition.ts";
import { trustTexts } from "../trust_texts.ts";
import { PropertyDialog } from "./property_dialog.tsx";
import { inputsOf, textOf, type ValueInput } from "./property_values.ts";
import { PropertyValues } from "./values.tsx";

const words = trustTexts.properties;
/** With fewer properties, reading is faster than searching. */
const MIN_FOR_FILTER = 6;
const DATASET_TYPE = /[:.]dataset$/i;

type Dataset = NonNullable<DatasetPropertiesQuery["dataset"]>;

/** A property that the dataset has, or may get. */
interface Row {
  readonly definition: PropertyDefinitionFragment;
  readonly entry: PropertyValuesFragment | undefined;
}

/** The tab "Properties" of a dataset. */
export default function Properties({ urn }: { readonly urn: string }) {
  const read = useApiQuery(DatasetPropertiesDocument, { urn });
  const [filter, setFilter] = useState("");
  if (read.data === undefined) return <LoadingOrError read={read} lines={8} />;
  const dataset = read.data.dataset;
  const needle = filter.trim().toLocaleLowerCase();
  const canEdit = dataset?.privileges?.canEditProperties === true;
  const rows = rowsOf(dataset, read.data.definitions, canEdit);
  const custom = dataset?.properties?.customProperties ?? [];
  const shownRows = rows.filter((row) => searchTextOf(row).includes(needle));
  const shownCustom = custom.filter(({ key, value }) =>
    `${key}\n${value ?? ""}`.toLocaleLowerCase().includes(needle),
  );
  const isEmpty = rows.length === 0 && custom.length === 0;
  return (
    <>
      <StaleNotice read={read} />
      {isEmpty && <EmptyState title={words.none} hint={words.noneHint} />}
      {rows.length + custom.length >= MIN_FOR_FILTER && (
        <input
          type="search"
          className="property-filter"
          aria-label={words.filter}
          placeholder={words.filter}
          value={filter}
          onChange={(event) => setFilter(event.target.value)}
        />
      )}
      {!isEmpty && shownRows.length === 0 && shownCustom.length === 0 && (
        <p className="hint" role="status">
          {words.noMatch(filter)}
        </p>
      )}
      {shownRows.length > 0 && <Structured urn={urn} rows={shownRows} canEdit={canEdit} />}
      {shownCustom.length > 0 && (
        <section className="section" aria-labelledby="custom-properties">
          <SectionHeader title={words.custom} id="custom-properties" />
          <table className="data-table stacked property-table">
            <thead>
              <tr>
                <th scope="col">{words.property}</th>
                <th scope="col">{words.value}</th>
              </tr>
            </thead>
            <tbody>
              {shownCustom.map(({ key, value }) => (
                <tr key={key}>
                  <th scope="row">{key}</th>
                  <td dir="auto">{value}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </>
  );
}

const searchTextOf = ({ definition, entry }: Row) =>
  [
    nameOfProperty(definition),
    definition.definition.description ?? "",
    entry === undefined ? "" : textOf(entry),
  ]
    .join("\n")
    .toLocaleLowerCase();

/** The properties with values, then those that could get one, if the user may set it. */
function rowsOf(
  dataset: Dataset | null | undefined,
  definitions: DatasetPropertiesQuery["definitions"],
  canEdit: boolean,
): readonly Row[] {
  const entries = dataset?.structuredProperties?.properties ?? [];
  const rows: Row[] = entries
    .filter(({ structuredProperty }) => structuredProperty.settings?.isHidden !== true)
    .map((entry) => ({ definition: entry.structuredProperty, entry }));
  if (!canEdit) return rows;
  const present = new Set(entries.map(({ structuredProperty }) => structuredProperty.urn));
  const platform = dataset?.platform.urn;
  const candidates = (definitions?.searchResults ?? []).flatMap(({ entity }): Row[] => {
    if (!("definition" in entity) || present.has(entity.urn)) return [];
    if (entity.settings?.isHidden === true) return [];
    const { entityTypes, allowedPlatforms } = entity.definition;
    const isForDatasets = entityTypes.some((type) => DATASET_TYPE.test(type.urn));
    const isForPlatform =
      allowedPlatforms == null || allowedPlatforms.some((allowed) => allowed.urn === platform);
    return isForDatasets && isForPlatform ? [{ definition: entity, entry: undefined }] : [];
  });
  candidates.sort((left, right) =>
    nameOfProperty(left.definition).localeCompare(nameOfProperty(right.definition)),
  );
  return [...rows, ...candidates];
}

function Structured({
  urn,
  rows,
  canEdit,
}: {
  readonly urn: string;
  readonly rows: readonly Row[];
  readonly canEdit: boolean;
}) {
  const [editing, setEditing] = useState<string | null>(null);
  const set = useApiMutation(SetStructuredPropertyDocument);
  const remove = useApiMutation(RemoveStructuredPropertyDocument);
  const { last, report, clear } = useUndo();
  const isBusy = set.isPending || remove.isPending;
  const current = rows.find(({ definition }) => definition.urn === editing);
  const write = (property: string, values: readonly ValueInput[], onSuccess: () => void) => {
    set.reset();
    remove.reset();
    if (values.length === 0) remove.mutate({ urn, property }, { onSuccess });
    else {
      const params = [{ structuredPropertyUrn: property, values: [...values] }];
      set.mutate(
        { input: { assetUrn: urn, structuredPropertyInputParams: params } },
        { onSuccess },
      );
    }
  };
  const change = ({ definition, entry }: Row, values: readonly ValueInput[]) => {
    const before = entry === undefined ? [] : inputsOf(entry);
    const name = nameOfProperty(definition);
    write(definition.urn, values, () => {
      setEditing(null);
      report(values.length === 0 ? words.removed(name) : words.changed(name), () =>
        write(definition.urn, before, clear),
      );
    });
  };
  return (
    <section className="section" aria-labelledby="structured-properties">
      <SectionHeader title={words.heading} id="structured-properties" />
      <UndoNotice
        last={last}
        isBusy={isBusy}
        error={editing === null ? (set.error ?? remove.error) : null}
      />
      <table className="data-table stacked property-table">
        <thead>
          <tr>
            <th scope="col">{words.property}</th>
            <th scope="col">{words.value}</th>
            {canEdit && (
              <th scope="col">
                <span className="visually-hidden">{words.edit}</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <PropertyRow
              key={row.definition.urn}
              row={row}
              canEdit={canEdit}
              isBusy={isBusy}
              onEdit={() => {
                set.reset();
                remove.reset();
                setEditing(row.definition.urn);
              }}
              onRemove={() => change(row, [])}
            />
          ))}
        </tbody>
      </table>
      {current !== undefined && (
        <PropertyDialog
          property={current.definition}
          entry={current.entry}
          name={nameOfProperty(current.definition)}
          isBusy={isBusy}
          error={set.error ?? remove.error}
          onSave={(values) => change(current, values)}
          onClose={() => setEditing(null)}
        />
      )}
    </section>
  );
}

function PropertyRow({
  row: { definition, entry },
  canEdit,
  isBusy,
  onEdit,
  onRemove,
}: {
  readonly row: Row;
  readonly canEdit: boolean;
  readonly isBusy: boolean;
  readonly onEdit: () => void;
  readonly onRemove: () => void;
}) {
  const name = nameOfProperty(definition);
  const isFixed = definition.definition.immutable && entry !== undefined;
  return (
    <tr>
      <th scope="row">
        <span dir="auto">{name}</span>
        {definition.definition.description != null && (
          <span className="hint property-definition" dir="auto">
            {definition.definition.description}
          </span>
        )}
      </th>
      <td>
        {entry === undefined ? (
          <span className="hint">{words.noValue}</span>
        ) : (
          <PropertyValues entry={entry} />
        )}
      </td>
      {canEdit && (
        <td className="row-actions">
          {isFixed ? (
            <span className="hint">{words.immutable}</span>
          ) : (
            <>
              <button
                type="button"
                className="subtle"
                disabled={isBusy}
                aria-label={entry === undefined ? words.setLabel(name) : words.editLabel(name)}
                onClick={onEdit}
              >
                {entry === undefined ? words.set : words.edit}
              </button>
              {entry !== undefined && (
                <button
                  type="button"
                  className="subtle"
                  disabled={isBusy}
                  aria-label={words.removeLabel(name)}
                  onClick={onRemove}
                >
                  {words.remove}
                </button>
              )}
            </>
          )}
        </td>
      )}
    </tr>
  );
}
