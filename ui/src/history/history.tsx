import { useState, type ReactNode } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useChange, useRead } from "../api/cache.ts";
import { Failure, isMissing } from "../api/client.ts";
import { Dialog } from "../components/dialog.tsx";
import { Difference } from "../components/difference.tsx";
import { Sentence } from "../components/sentence.tsx";
import { EntityLink, Stamp } from "../components/small.tsx";
import { Problem, Skeleton } from "../components/states.tsx";
import { readablePath } from "../dataset/field_path.ts";
import {
  ColumnHistoryDocument,
  DatasetHistoryDocument,
  DomainHistoryDocument,
  SetDomainDocument,
  UnsetDomainDocument,
  UpdateDescriptionDocument,
  type ChangesFragment,
  type DatasetQuery,
  type DomainQuery,
} from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { texts } from "../texts.ts";
import { momentOf } from "../time.ts";

type Dataset = NonNullable<DatasetQuery["dataset"]>;
type Domain = NonNullable<DomainQuery["domain"]>;
type Change = ChangesFragment["changes"][number];

export function DatasetHistory({ dataset }: { readonly dataset: Dataset }) {
  const read = useRead(DatasetHistoryDocument, { urn: dataset.urn });
  if (read.isPending) return <Skeleton />;
  if (read.isLoadingError) return <Problem error={read.error} retry={() => void read.refetch()} />;
  const canEdit = dataset.privileges?.canEditDescription === true;
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
        canRestore={dataset.privileges?.canEditDomains === true}
      />
      <TextHistory title={texts.history.ingested} history={read.data.ingested} urn={dataset.urn} canRestore={false} />
      <p className="hint">{texts.history.pickColumn}</p>
    </>
  );
}

export function ColumnHistory({ dataset, column }: { readonly dataset: Dataset; readonly column: string }) {
  const read = useRead(ColumnHistoryDocument, { urn: dataset.urn, column });
  if (read.isPending) return <Skeleton />;
  if (read.isLoadingError) return <Problem error={read.error} retry={() => void read.refetch()} />;
  const canEdit = dataset.privileges?.canEditSchemaFieldDescription === true;
  return (
    <>
      <p>
        <Link href={addresses.history(addresses.dataset(dataset.urn))}>{texts.history.allOfDataset}</Link>
      </p>
      <h2>{texts.history.ofColumn(readablePath(column))}</h2>
      <TextHistory
        title={texts.history.description}
        history={read.data.description}
        urn={dataset.urn}
        column={column}
        isPart
        canRestore={canEdit}
      />
      <TextHistory
        title={texts.history.ingested}
        history={read.data.ingested}
        urn={dataset.urn}
        isPart
        canRestore={false}
      />
    </>
  );
}

export function DomainHistory({ domain }: { readonly domain: Domain }) {
  const read = useRead(DomainHistoryDocument, { urn: domain.urn });
  if (read.isPending) return <Skeleton />;
  if (read.isLoadingError) return <Problem error={read.error} retry={() => void read.refetch()} />;
  const canEdit = domain.privileges?.canEditDescription === true;
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
  readonly history: ChangesFragment;
  readonly urn: string;
  readonly column?: string;
  readonly isPart?: boolean;
  readonly canRestore: boolean;
}

/** The versions of a text, each with what it changed. */
function TextHistory({ title, history, urn, column, isPart = false, canRestore }: TextHistoryProperties) {
  const [chosen, setChosen] = useState<Change | null>(null);
  const update = useChange(UpdateDescriptionDocument);
  const newest = history.changes[0];
  const restore = (change: Change) => {
    const target = column === undefined ? {} : { subResource: column, subResourceType: "DATASET_FIELD" as const };
    const input = {
      resourceUrn: urn,
      ...target,
      description: change.text ?? "",
      previousDescription: newest?.text ?? "",
    };
    update.mutate({ input }, { onSuccess: () => setChosen(null) });
  };
  const choose = (change: Change | null) => {
    update.reset();
    setChosen(change);
  };
  return (
    <Versions
      title={title}
      isPart={isPart}
      history={history}
      canRestore={(change) => canRestore && (change.text ?? "") !== (newest?.text ?? "")}
      onRestore={choose}
    >
      {(change, before) =>
        change.text === null || change.text === undefined ? (
          <p className="hint">{texts.history.emptied}</p>
        ) : (
          <Difference before={before === undefined ? change.text : (before.text ?? "")} after={change.text} />
        )
      }
      {chosen !== null && (
        <RestoreDialog
          onClose={() => choose(null)}
          onRestore={() => restore(chosen)}
          error={conflictOf(update.error)}
          isBusy={update.isPending}
        >
          <Difference before={newest?.text ?? ""} after={chosen.text ?? ""} />
        </RestoreDialog>
      )}
    </Versions>
  );
}

function conflictOf(error: Error | null): Error | null {
  return error instanceof Failure && error.code === 409 ? new Error(texts.history.changedMeanwhile) : error;
}

interface AssignmentsProperties {
  readonly history: ChangesFragment;
  readonly urn: string;
  readonly canRestore: boolean;
}

function DomainAssignments({ history, urn, canRestore }: AssignmentsProperties) {
  const [chosen, setChosen] = useState<Change | null>(null);
  const set = useChange(SetDomainDocument);
  const unset = useChange(UnsetDomainDocument);
  const done = { onSuccess: () => setChosen(null) };
  const restore = (change: Change) => {
    if (change.domain === null || change.domain === undefined) unset.mutate({ urn }, done);
    else set.mutate({ urn, domain: change.domain.urn }, done);
  };
  const choose = (change: Change | null) => {
    set.reset();
    unset.reset();
    setChosen(change);
  };
  const described = (change: Change | undefined) =>
    change?.domain === null || change?.domain === undefined ? texts.dataset.noDomain : nameOf(change.domain);
  return (
    <Versions
      title={texts.history.domain}
      history={history}
      canRestore={(change) =>
        canRestore && change.domain?.exists !== false && change.domain?.urn !== history.changes[0]?.domain?.urn
      }
      onRestore={choose}
    >
      {(change) => <Assignment change={change} />}
      {chosen !== null && (
        <RestoreDialog
          onClose={() => choose(null)}
          onRestore={() => restore(chosen)}
          error={problemOf(set.error ?? unset.error)}
          isBusy={set.isPending || unset.isPending}
        >
          <Difference before={described(history.changes[0])} after={described(chosen)} />
        </RestoreDialog>
      )}
    </Versions>
  );
}

/** A domain that is deleted between the look at it and the click is no raw error either. */
function problemOf(error: Error | null): Error | null {
  return error !== null && isMissing(error) ? new Error(texts.history.domainGone) : error;
}

function Assignment({ change }: { readonly change: Change }) {
  const { domain } = change;
  if (domain === null || domain === undefined) return <p>{texts.history.unassigned}</p>;
  if (domain.exists === false) {
    return (
      <p>
        <Sentence text={texts.history.assignedGone} parts={{ domain: <code>{nameOf(domain)}</code> }} />
      </p>
    );
  }
  return (
    <p>
      <Sentence text={texts.history.assigned} parts={{ domain: <EntityLink entity={domain} className="chip" /> }} />
    </p>
  );
}

interface VersionsProperties {
  readonly title: string;
  /** Whether it stands below a heading of its own page. */
  readonly isPart?: boolean;
  readonly history: ChangesFragment;
  readonly canRestore: (change: Change) => boolean;
  readonly onRestore: (change: Change) => void;
  /** How to show a version beside the one before it, and what else belongs here. */
  readonly children: [(change: Change, before: Change | undefined) => ReactNode, ReactNode];
}

function Versions({ title, isPart = false, history, canRestore, onRestore, children }: VersionsProperties) {
  const [show, more] = children;
  return (
    <section className="section" aria-label={title}>
      {isPart ? <h3>{title}</h3> : <h2>{title}</h2>}
      {history.changes.length === 0 && <p className="hint">{texts.history.none}</p>}
      <ol className="versions">
        {history.changes.map((change, place) => (
          <li key={change.version}>
            <div className="version-head">
              <Stamp actor={change.actor} time={change.time} />
              {place === 0 && <span className="hint">{texts.history.current}</span>}
              {place === history.changes.length - 1 && history.isComplete && (
                <span className="hint">{texts.history.first}</span>
              )}
              {place > 0 && canRestore(change) && (
                <button
                  type="button"
                  className="quiet"
                  aria-label={texts.history.restoreLabel(momentOf(change.time))}
                  onClick={() => onRestore(change)}
                >
                  {texts.history.restore}
                </button>
              )}
            </div>
            {show(change, history.changes[place + 1])}
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
      {error !== null && <Problem error={error} />}
      <div className="dialog-feet">
        <button type="button" onClick={onClose}>
          {texts.domains.cancel}
        </button>
        <button type="button" className="primary" disabled={isBusy} onClick={onRestore}>
          {texts.history.restoreDo}
        </button>
      </div>
    </Dialog>
  );
}
