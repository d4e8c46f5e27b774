import { Link, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { isNotFound } from "../api/client.ts";
import { EntityTabs } from "../components/sections.tsx";
import { EntityLink } from "../components/common.tsx";
import { FormattedText } from "../components/formatted_text.tsx";
import {
  EmptyState,
  DeletedNotice,
  StaleNotice,
  ErrorMessage,
  Skeleton,
  useLastKnown,
  useTitle,
} from "../components/states.tsx";
import { readablePath } from "../dataset/field_path.ts";
import { Columns } from "../dataset/columns.tsx";
import { Description } from "../description/description.tsx";
import { lastEditOf } from "../description/saved_description.ts";
import {
  DatasetDocument,
  DatasetHistoryDocument,
  type DatasetQuery,
} from "../generated/operations.ts";
import { ColumnHistory, DatasetHistory } from "../history/history.tsx";
import { nameOf } from "../names.ts";
import { canChange } from "../privileges.ts";
import { PendingProposals } from "../proposals/pending.tsx";
import { Rail } from "../rail/rail.tsx";
import { texts } from "../texts.ts";
import { formatDate } from "../time.ts";

type Dataset = NonNullable<DatasetQuery["dataset"]>;

export default function DatasetPage({ urn }: { readonly urn: string }) {
  const read = useApiQuery(DatasetDocument, { urn });
  const latest = read.data?.dataset;
  const dataset = useLastKnown(latest?.exists === false ? undefined : latest);
  const isDeleted = read.isRefetchError ? isNotFound(read.error) : latest !== dataset;
  const parameters = new URLSearchParams(useSearch());
  const column = parameters.get("column");
  const isHistory = parameters.get("show") === "history";
  const name = nameOf(dataset ?? { urn });
  const subject = column === null ? name : texts.history.columnOf(readablePath(column), name);
  const title = isHistory ? texts.history.title(subject) : name;
  useTitle(read.isLoadingError || dataset === undefined ? undefined : title);

  if (read.isPending) return <Skeleton lines={10} />;
  if (read.isLoadingError) {
    return isNotFound(read.error) ? (
      <Missing />
    ) : (
      <ErrorMessage error={read.error} retry={() => void read.refetch()} />
    );
  }
  if (dataset === undefined) return <Missing />;
  return (
    <article className="entity">
      {isDeleted ? <DeletedNotice notice={texts.dataset.deleted} /> : <StaleNotice read={read} />}
      <DatasetHeader dataset={dataset} />
      <EntityTabs
        address={addresses.dataset(urn)}
        label={texts.dataset.tabsLabel}
        isHistory={isHistory}
      />
      {!isHistory && <Overview dataset={dataset} />}
      {isHistory && column === null && <DatasetHistory dataset={dataset} />}
      {isHistory && column !== null && <ColumnHistory dataset={dataset} column={column} />}
    </article>
  );
}

function Overview({ dataset }: { readonly dataset: Dataset }) {
  const history = useApiQuery(DatasetHistoryDocument, { urn: dataset.urn });
  return (
    <div className="with-rail">
      <Description
        urn={dataset.urn}
        edited={dataset.editableProperties?.description ?? ""}
        editedBy={lastEditOf(history.data?.description)}
        imported={dataset.properties?.description ?? ""}
        importedBy={lastEditOf(history.data?.imported)}
        canEdit={canChange(dataset.privileges, "canEditDescription")}
      />
      <Rail entity={dataset} label={texts.rail.label} />
      <Columns
        urn={dataset.urn}
        canEdit={canChange(dataset.privileges, "canEditSchemaFieldDescription")}
      />
    </div>
  );
}

function DatasetHeader({ dataset }: { readonly dataset: Dataset }) {
  const containers = [...(dataset.parentContainers?.containers ?? [])].reverse();
  const type = dataset.subTypes?.typeNames?.[0] ?? texts.entityTypes["DATASET"]?.one;
  const external = dataset.properties?.externalUrl;
  return (
    <header className="entity-header">
      <ol className="breadcrumb">
        <li>
          <EntityLink entity={dataset.platform} />
        </li>
        {containers.map((container) => (
          <li key={container.urn}>
            <EntityLink entity={container} />
          </li>
        ))}
      </ol>
      <h1 dir="auto">{nameOf(dataset)}</h1>
      <p className="hint">
        {type} · {nameOf(dataset.platform)}
        {external !== null && external !== undefined && /^https?:/.test(external) && (
          <>
            {" · "}
            <a href={external} rel="noopener noreferrer">
              {texts.dataset.external(nameOf(dataset.platform))}
            </a>
          </>
        )}
      </p>
      {dataset.status?.removed === true && <p className="notice">{texts.dataset.removed}</p>}
      {dataset.deprecation?.deprecated === true && (
        <DeprecationNotice deprecation={dataset.deprecation} />
      )}
      <PendingProposals urn={dataset.urn} />
    </header>
  );
}

function DeprecationNotice({
  deprecation,
}: {
  readonly deprecation: NonNullable<Dataset["deprecation"]>;
}) {
  const { note, replacement, decommissionTime: time } = deprecation;
  const end =
    time === null || time === undefined || time === 0
      ? ""
      : (time > Date.now() ? texts.dataset.decommissioned : texts.dataset.wasDecommissioned)(
          formatDate(time),
        );
  return (
    <p className="notice" dir="auto">
      {texts.dataset.deprecatedNotice} {note}{" "}
      {replacement !== null && replacement !== undefined && (
        <FormattedText
          text={texts.dataset.replacedBy}
          values={{ replacement: <EntityLink entity={replacement} /> }}
        />
      )}{" "}
      {end}
    </p>
  );
}

function Missing() {
  useTitle(texts.errors.notFoundTitle);
  return (
    <EmptyState isPage title={texts.dataset.missing} hint={texts.dataset.missingHint}>
      <Link href={addresses.search("")}>{texts.dataset.toSearch}</Link>
    </EmptyState>
  );
}
