import { useState } from "react";
import { useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { Byline, CopyButton } from "../components/common.tsx";
import { Markdown } from "../components/markdown.tsx";
import { Pagination, pageFromAddress } from "../components/pagination.tsx";
import { EmptyState, LoadingOrError, StaleNotice } from "../components/states.tsx";
import { SectionHeader } from "../components/sections.tsx";
import { UndoNotice, useUndo } from "../components/undo.tsx";
import { readablePath } from "../dataset/field_path.ts";
import {
  CreateQueryDocument,
  DatasetQueriesDocument,
  DeleteQueryDocument,
  UpdateQueryDocument,
  type QueryEntryFragment,
} from "../generated/operations.ts";
import { trustTexts } from "../trust_texts.ts";
import { texts } from "../texts.ts";
import { QueryDialog, type QueryInput } from "./query_dialog.tsx";
import { Sql } from "./sql.tsx";

const words = trustTexts.queries;
const PAGE_SIZE = 20;
const MAX_POPULAR = 10;

const nameOfQuery = ({ properties }: QueryEntryFragment) => properties?.name || words.untitled;

/** What a query says, as the API takes it. */
const inputOf = ({ properties }: QueryEntryFragment) => ({
  name: properties?.name ?? "",
  description: properties?.description ?? "",
  statement: properties?.statement ?? { value: "", language: "SQL" as const },
});

/** The tab "Queries" of a dataset. */
export default function Queries({ urn }: { readonly urn: string }) {
  const page = pageFromAddress(new URLSearchParams(useSearch()), PAGE_SIZE);
  const read = useApiQuery(
    DatasetQueriesDocument,
    { urn, start: (page - 1) * PAGE_SIZE, count: PAGE_SIZE },
    { keepPrevious: true },
  );
  const [editing, setEditing] = useState<QueryEntryFragment | "new" | null>(null);
  const create = useApiMutation(CreateQueryDocument);
  const update = useApiMutation(UpdateQueryDocument);
  const remove = useApiMutation(DeleteQueryDocument);
  const { last, report, clear } = useUndo();
  if (read.data === undefined) return <LoadingOrError read={read} lines={8} />;
  const queries = read.data.listQueries?.queries ?? [];
  const canEdit = read.data.dataset?.privileges?.canEditQueries === true;
  const popular = popularOf(read.data.dataset?.usageStats?.buckets ?? []);

  const edit = (query: QueryEntryFragment | "new" | null) => {
    for (const change of [create, update, remove]) change.reset();
    setEditing(query);
  };
  const save = ({ name, description, statement }: QueryInput) => {
    clear();
    const properties = {
      name,
      description,
      statement: { value: statement, language: "SQL" as const },
    };
    if (editing === "new")
      create.mutate(
        { input: { properties, subjects: [{ datasetUrn: urn }] } },
        { onSuccess: () => setEditing(null) },
      );
    else if (editing !== null) {
      const before = inputOf(editing);
      const undo = () =>
        update.mutate({ urn: editing.urn, input: { properties: before } }, { onSuccess: clear });
      update.mutate(
        { urn: editing.urn, input: { properties } },
        {
          onSuccess: () => {
            setEditing(null);
            report(words.saved(name || words.untitled), undo);
          },
        },
      );
    }
  };
  const deleteQuery = (query: QueryEntryFragment) => {
    edit(null);
    const datasets = [...new Set((query.subjects ?? []).map(({ dataset }) => dataset.urn))];
    const restore = () =>
      create.mutate(
        {
          input: {
            properties: inputOf(query),
            subjects: datasets.map((datasetUrn) => ({ datasetUrn })),
          },
        },
        { onSuccess: clear },
      );
    remove.mutate(
      { urn: query.urn },
      { onSuccess: () => report(words.removed(nameOfQuery(query)), restore) },
    );
  };
  const isBusy = create.isPending || update.isPending || remove.isPending;

  return (
    <>
      <StaleNotice read={read} />
      <section className="section" aria-labelledby="queries">
        <SectionHeader title={words.heading} id="queries">
          {canEdit && (
            <button type="button" onClick={() => edit("new")}>
              {words.add}
            </button>
          )}
        </SectionHeader>
        {queries.length === 0 && page === 1 && (
          <EmptyState title={words.none} hint={words.noneHint} />
        )}
        <UndoNotice
          last={last}
          isBusy={isBusy}
          error={editing === null ? (remove.error ?? create.error ?? update.error) : null}
        />
        <ul className="query-list">
          {queries.map((query) => (
            <SavedQuery
              key={query.urn}
              query={query}
              urn={urn}
              actions={canEdit ? { isBusy, onEdit: edit, onDelete: deleteQuery } : undefined}
            />
          ))}
        </ul>
        <Pagination
          page={page}
          size={PAGE_SIZE}
          total={read.data.listQueries?.total ?? 0}
          addressOf={(target) => {
            const address = addresses.datasetTab(urn, "Queries");
            return target === 1 ? address : `${address}?page=${target}`;
          }}
        />
      </section>
      {popular.length > 0 && (
        <section className="section" aria-labelledby="popular">
          <SectionHeader title={words.popular} id="popular" />
          <p className="hint">{words.popularHint}</p>
          <ul className="query-list">
            {popular.map((statement, index) => (
              <li key={statement}>
                <div className="query-heading">
                  <h3>{words.popularName(index + 1)}</h3>
                  <CopyButton
                    text={statement}
                    label={words.copyLabel(words.popularName(index + 1))}
                  />
                </div>
                <Sql text={statement} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {editing !== null && (
        <QueryDialog
          {...(editing === "new" ? {} : { query: editing })}
          isBusy={isBusy}
          error={create.error ?? update.error}
          onSave={save}
          onClose={() => setEditing(null)}
        />
      )}
    </>
  );
}

interface QueryActions {
  readonly isBusy: boolean;
  readonly onEdit: (query: QueryEntryFragment) => void;
  readonly onDelete: (query: QueryEntryFragment) => void;
}

function SavedQuery({
  query,
  urn,
  actions,
}: {
  readonly query: QueryEntryFragment;
  readonly urn: string;
  readonly actions: QueryActions | undefined;
}) {
  const { properties, subjects } = query;
  if (properties == null) return null;
  const name = nameOfQuery(query);
  const columns = (subjects ?? [])
    .filter(({ dataset }) => dataset.urn === urn)
    .flatMap(({ schemaField }) =>
      schemaField == null ? [] : [readablePath(schemaField.fieldPath)],
    );
  return (
    <li>
      <div className="query-heading">
        <h3 dir="auto">{name}</h3>
        <span className="query-actions">
          <CopyButton text={properties.statement.value} label={words.copyLabel(name)} />
          {actions !== undefined && (
            <>
              <button
                type="button"
                className="subtle"
                disabled={actions.isBusy}
                aria-label={words.editLabel(name)}
                onClick={() => actions.onEdit(query)}
              >
                {words.edit}
              </button>
              <button
                type="button"
                className="subtle"
                disabled={actions.isBusy}
                aria-label={words.removeLabel(name)}
                onClick={() => actions.onDelete(query)}
              >
                {words.remove}
              </button>
            </>
          )}
        </span>
      </div>
      {properties.description != null && properties.description !== "" && (
        <Markdown text={properties.description} />
      )}
      <p className="hint">
        <Byline
          actor={properties.createdOn.actor}
          time={properties.createdOn.time}
          by={words.by}
          at={words.at}
        />
        {properties.source === "SYSTEM" && ` · ${words.system}`}
        {columns.length > 0 && ` · ${texts.list(columns)}`}
      </p>
      <Sql text={properties.statement.value} />
    </li>
  );
}

/** The queries that the source names most often. */
function popularOf(
  buckets: readonly ({
    readonly metrics?: {
      readonly topSqlQueries?: readonly (string | null)[] | null;
    } | null;
  } | null)[],
): readonly string[] {
  const counts = new Map<string, number>();
  for (const bucket of buckets) {
    for (const statement of bucket?.metrics?.topSqlQueries ?? []) {
      if (statement !== null) counts.set(statement, (counts.get(statement) ?? 0) + 1);
    }
  }
  return [...counts]
    .sort(([, left], [, right]) => right - left)
    .slice(0, MAX_POPULAR)
    .map(([statement]) => statement);
}
