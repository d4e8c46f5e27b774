// The history of one column's descriptions.

import { useState, type ReactNode } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { Byline } from "../components/common.tsx";
import { ErrorMessage, Skeleton } from "../components/states.tsx";
import { TextDiff } from "../components/text_diff.tsx";
import { readablePath } from "../dataset/field_path.ts";
import {
  ColumnHistoryDocument,
  UpdateDescriptionDocument,
  type DatasetQuery,
  type HistoryChangesFragment,
} from "../generated/operations.ts";
import { canChange } from "../privileges.ts";
import { texts } from "../texts.ts";
import { formatDateTime } from "../time.ts";
import { RestoreDialog, describeConflict } from "./restore_dialog.tsx";

type Dataset = NonNullable<DatasetQuery["dataset"]>;
type Change = HistoryChangesFragment["changes"][number];

export default function ColumnHistory({
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
        canRestore={canEdit}
      />
      <TextHistory
        title={texts.history.imported}
        history={read.data.imported}
        urn={dataset.urn}
        column={column}
        canRestore={false}
      />
    </>
  );
}

interface TextHistoryProperties {
  readonly title: string;
  readonly history: HistoryChangesFragment;
  readonly urn: string;
  readonly column: string;
  readonly canRestore: boolean;
}

/** The versions of a text, each with its changes. */
function TextHistory({ title, history, urn, column, canRestore }: TextHistoryProperties) {
  const [selected, setSelected] = useState<Change | null>(null);
  const update = useApiMutation(UpdateDescriptionDocument);
  const latest = history.changes[0];
  const restore = (change: Change) => {
    const input = {
      resourceUrn: urn,
      subResource: column,
      subResourceType: "DATASET_FIELD" as const,
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

interface VersionsProperties {
  readonly title: string;
  readonly history: HistoryChangesFragment;
  readonly canRestore: (change: Change) => boolean;
  readonly onRestore: (change: Change) => void;
  /** Renders a version compared with the previous one; and further content. */
  readonly children: [(change: Change, before: Change | undefined) => ReactNode, ReactNode];
}

function Versions({ title, history, canRestore, onRestore, children }: VersionsProperties) {
  const [renderVersion, more] = children;
  return (
    <section className="section" aria-label={title}>
      <h3>{title}</h3>
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
