import { useState, type ReactNode } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { ApiError, isNotFound } from "../api/client.ts";
import { Dialog } from "../components/dialog.tsx";
import { TextDiff } from "../components/text_diff.tsx";
import { FormattedText } from "../components/formatted_text.tsx";
import { EntityLink, Byline } from "../components/common.tsx";
import { ErrorMessage, Skeleton } from "../components/states.tsx";
import { readablePath } from "../dataset/field_path.ts";
import {
  ColumnHistoryDocument,
  DatasetHistoryDocument,
  DomainHistoryDocument,
  SetDomainDocument,
  UnsetDomainDocument,
  UpdateDescriptionDocument,
  type HistoryChangesFragment,
  type DatasetQuery,
  type DomainQuery,
} from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { canChange } from "../privileges.ts";
import { texts } from "../texts.ts";
import { formatDateTime } from "../time.ts";

type Dataset = NonNullable<DatasetQuery["dataset"]>;
type Domain = NonNullable<DomainQuery["domain"]>;
type Change = HistoryChangesFragment["changes"][number];

export function DatasetHistory({ dataset }: { readonly dataset: Dataset }) {
  const read = useApiQuery(DatasetHistoryDocument, { urn: dataset.urn });
  if (read.isPending) return <Skeleton />;
  if (read.isLoadingError)
    return <ErrorMessage error={read.error} retry={() => void read.refetch()} />;
  const canEdit = canChange(dataset.privileges, "canEditDescription");
  return (
    <>
      <TextHistory
        title={texts.history.description}
        history={read.data.description}
        urn={dataset.urn}
        canRestore={canEdit}
      />
      <DomainAssignments
        history={read.data.domain}
        urn={dataset.urn}
        canRestore={canChange(dataset.privileges, "canEditDomains")}
      />
      <TextHistory
        title={texts.history.imported}
        history={read.data.imported}
        urn={dataset.urn}
        canRestore={false}
      />
      <p className="hint">{texts.history.columnsHint}</p>
    </>
  );
}

export function ColumnHistory({
  dataset,
  column,
}: {
  readonly dataset: Dataset;
  readonly column: string;
}) {
  const read = useApiQuery(ColumnHistoryDocument, { urn: dataset.urn, column });
  if (read.isPending) return <Skeleton />;
  if (read.isLoadingError)
    return <ErrorMessage error={read.error} retry={() => void read.refetch()} />;
  const canEdit = canChange(dataset.privileges, "canEditSchemaFieldDescription");
  return (
    <>
      <p>
        <Link href={addresses.history(addresses.dataset(dataset.urn))}>
          {texts.history.ofDataset}
        </Link>
      </p>
      <h2>{texts.history.ofColumn(readablePath(column))}</h2>
      <TextHistory
        title={texts.history.description}
        history={read.data.description}
        urn={dataset.urn}
        column={column}
        isNested
        canRestore={canEdit}
      />
      <TextHistory
        title={texts.history.imported}
        history={read.data.imported}
        urn={dataset.urn}
        isNested
        canRestore={false}
      />
    </>
  );
}

export function DomainHistory({ domain }: { readonly domain: Domain }) {
  const read = useApiQuery(DomainHistoryDocument, { urn: domain.urn });
  if (read.isPending) return <Skeleton />;
  if (read.isLoadingError)
    return <ErrorMessage error={read.error} retry={() => void read.refetch()} />;
  const canEdit = canChange(domain.privileges, "canEditDescription");
  return (
    <TextHistory
      title={texts.description.heading}
      history={read.data.description}
      urn={domain.urn}
      canRestore={canEdit}
    />
  );
}

interface TextHistoryProperties {
  readonly title: string;
  readonly history: HistoryChangesFragment;
  readonly urn: string;
  readonly column?: string;
  readonly isNested?: boolean;
  readonly canRestore: boolean;
}

/** The versions of a text, each with its changes. */
function TextHistory({
  title,
  history,
  urn,
  column,
  isNested = false,
  canRestore,
}: TextHistoryProperties) {
  const [selected, setSelected] = useState<Change | null>(null);
  const update = useApiMutation(UpdateDescriptionDocument);
  const latest = history.changes[0];
  const restore = (change: Change) => {
    const target =
      column === undefined
        ? {}
        : { subResource: column, subResourceType: "DATASET_FIELD" as const };
    const input = {
      resourceUrn: urn,
      ...target,
      description: change.text ?? "",
      previousDescription: latest?.text ?? "",
    };
    update.mutate({ input }, { onSuccess: () => setSelected(null) });
  };
  const select = (change: Change | null) => {
    update.reset();
    setSelected(change);
  };
  return (
    <Versions
      title={title}
      isNested={isNested}
      history={history}
      canRestore={(change) => canRestore && (change.text ?? "") !== (latest?.text ?? "")}
      onRestore={select}
    >
      {(change, before) =>
        change.text === null || change.text === undefined ? (
          <p className="hint">{texts.history.emptied}</p>
        ) : (
          <TextDiff
            before={before === undefined ? change.text : (before.text ?? "")}
            after={change.text}
          />
        )
      }
      {selected !== null && (
        <RestoreDialog
          onClose={() => select(null)}
          onRestore={() => restore(selected)}
          error={describeConflict(update.error)}
          isBusy={update.isPending}
        >
          <TextDiff before={latest?.text ?? ""} after={selected.text ?? ""} />
        </RestoreDialog>
      )}
    </Versions>
  );
}

function describeConflict(error: Error | null): Error | null {
  return error instanceof ApiError && error.code === 409
    ? new Error(texts.history.conflict)
    : error;
}

interface AssignmentsProperties {
  readonly history: HistoryChangesFragment;
  readonly urn: string;
  readonly canRestore: boolean;
}

function DomainAssignments({ history, urn, canRestore }: AssignmentsProperties) {
  const [selected, setSelected] = useState<Change | null>(null);
  const set = useApiMutation(SetDomainDocument);
  const unset = useApiMutation(UnsetDomainDocument);
  const done = { onSuccess: () => setSelected(null) };
  const restore = (change: Change) => {
    if (change.domain === null || change.domain === undefined) unset.mutate({ urn }, done);
    else set.mutate({ urn, domain: change.domain.urn }, done);
  };
  const select = (change: Change | null) => {
    set.reset();
    unset.reset();
    setSelected(change);
  };
  const domainName = (change: Change | undefined) =>
    change?.domain === null || change?.domain === undefined
      ? texts.history.noDomain
      : nameOf(change.domain);
  return (
    <Versions
      title={texts.history.domain}
      history={history}
      canRestore={(change) =>
        canRestore &&
        change.domain?.exists !== false &&
        change.domain?.urn !== history.changes[0]?.domain?.urn
      }
      onRestore={select}
    >
      {(change) => <Assignment change={change} />}
      {selected !== null && (
        <RestoreDialog
          onClose={() => select(null)}
          onRestore={() => restore(selected)}
          error={describeDeletion(set.error ?? unset.error)}
          isBusy={set.isPending || unset.isPending}
        >
          <TextDiff before={domainName(history.changes[0])} after={domainName(selected)} />
        </RestoreDialog>
      )}
    </Versions>
  );
}

/** Explains the error when the domain was deleted after the page was loaded. */
function describeDeletion(error: Error | null): Error | null {
  return error !== null && isNotFound(error) ? new Error(texts.history.domainDeleted) : error;
}

function Assignment({ change }: { readonly change: Change }) {
  const { domain } = change;
  if (domain === null || domain === undefined) return <p>{texts.history.unassigned}</p>;
  if (domain.exists === false) {
    return (
      <p>
        <FormattedText
          text={texts.history.assignedDeleted}
          values={{ domain: <code>{nameOf(domain)}</code> }}
        />
      </p>
    );
  }
  return (
    <p>
      <FormattedText
        text={texts.history.assigned}
        values={{ domain: <EntityLink entity={domain} className="chip" /> }}
      />
    </p>
  );
}

interface VersionsProperties {
  readonly title: string;
  /** Whether it is below another section heading. */
  readonly isNested?: boolean;
  readonly history: HistoryChangesFragment;
  readonly canRestore: (change: Change) => boolean;
  readonly onRestore: (change: Change) => void;
  /** Renders a version compared with the previous one; and further content. */
  readonly children: [(change: Change, before: Change | undefined) => ReactNode, ReactNode];
}

function Versions({
  title,
  isNested = false,
  history,
  canRestore,
  onRestore,
  children,
}: VersionsProperties) {
  const [renderVersion, more] = children;
  return (
    <section className="section" aria-label={title}>
      {isNested ? <h3>{title}</h3> : <h2>{title}</h2>}
      {history.changes.length === 0 && <p className="hint">{texts.history.none}</p>}
      <ol className="versions">
        {history.changes.map((change, index) => (
          <li key={change.version}>
            <div className="version-header">
              <Byline
                actor={change.actor}
                time={change.time}
                by={texts.history.changedBy}
                at={texts.history.changedAt}
              />
              {index === 0 && <span className="hint">{texts.history.current}</span>}
              {index === history.changes.length - 1 && history.isComplete && (
                <span className="hint">{texts.history.first}</span>
              )}
              {index > 0 && canRestore(change) && (
                <button
                  type="button"
                  className="subtle"
                  aria-label={texts.history.restoreLabel(formatDateTime(change.time))}
                  onClick={() => onRestore(change)}
                >
                  {texts.history.restore}
                </button>
              )}
            </div>
            {renderVersion(change, history.changes[index + 1])}
          </li>
        ))}
      </ol>
      {!history.isComplete && <p className="hint">{texts.history.incomplete}</p>}
      {more}
    </section>
  );
}

interface RestoreDialogProperties {
  readonly onClose: () => void;
  readonly onRestore: () => void;
  readonly error: Error | null;
  readonly isBusy: boolean;
  readonly children: ReactNode;
}

function RestoreDialog({ onClose, onRestore, error, isBusy, children }: RestoreDialogProperties) {
  return (
    <Dialog title={texts.history.restoreTitle} isOpen onClose={onClose}>
      <p>{texts.history.restorePreview}</p>
      {children}
      {error !== null && <ErrorMessage error={error} />}
      <div className="dialog-actions">
        <button type="button" onClick={onClose}>
          {texts.domains.cancel}
        </button>
        <button type="button" className="primary" disabled={isBusy} onClick={onRestore}>
          {texts.history.restoreButton}
        </button>
      </div>
    </Dialog>
  );
}
