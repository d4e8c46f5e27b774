import { Suspense, lazy } from "react";
import { Link, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { isNotFound } from "../api/client.ts";
import { loadChunk } from "../components/chunks.ts";
import { EntityTabs } from "../components/sections.tsx";
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
import { DatasetHeader } from "../dataset/header.tsx";
import { datasetTab, useDatasetTabs } from "../dataset/tabs.tsx";
import { Description } from "../description/description.tsx";
import { lastEditOf } from "../description/saved_description.ts";
import {
  DatasetDocument,
  DatasetHistoryDocument,
  type DatasetQuery,
} from "../generated/operations.ts";
import { EntityHistory } from "../history/entity_history.tsx";
import { nameOf } from "../names.ts";
import { rightTo } from "../privileges.ts";
import { RailForms } from "../rail/forms.tsx";
import { Rail } from "../rail/rail.tsx";
import { texts } from "../texts.ts";
import { TrustSummary } from "../trust/summary.tsx";

const ColumnHistory = lazy(() => loadChunk(import("../history/column_history.tsx")));
const ViewDefinition = lazy(() => loadChunk(import("../trust/view_definition.tsx")));

type Dataset = NonNullable<DatasetQuery["dataset"]>;

interface DatasetPageProperties {
  readonly urn: string;
  /** The tab in the address; one that Docent does not have shows the overview. */
  readonly tab?: string | undefined;
}

export default function DatasetPage({ urn, tab: segment }: DatasetPageProperties) {
  const read = useApiQuery(DatasetDocument, { urn });
  const latest = read.data?.dataset;
  const dataset = useLastKnown(latest?.exists === false ? undefined : latest);
  const isDeleted = read.isRefetchError ? isNotFound(read.error) : latest !== dataset;
  const parameters = new URLSearchParams(useSearch());
  const column = parameters.get("column");
  const isHistory = parameters.get("show") === "history";
  const name = nameOf(dataset ?? { urn });
  const subject = column === null ? name : texts.history.columnOf(readablePath(column), name);
  const tab = isHistory ? undefined : datasetTab(segment);
  const tabs = useDatasetTabs(urn, tab);
  const title = isHistory
    ? texts.history.title(subject)
    : tab === undefined
      ? name
      : texts.dataset.tabTitle(tab.label, name);
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
        overview={texts.dataset.tabs.columns}
        others={tabs}
      />
      {tab !== undefined && (
        <Suspense fallback={<Skeleton lines={6} />}>
          <tab.content urn={urn} />
        </Suspense>
      )}
      {!isHistory && tab === undefined && <Overview dataset={dataset} />}
      {isHistory && column === null && <EntityHistory urn={urn} />}
      {isHistory && column !== null && (
        <Suspense fallback={<Skeleton />}>
          <ColumnHistory dataset={dataset} column={column} />
        </Suspense>
      )}
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
        right={rightTo(dataset.privileges, "canEditDescription")}
      />
      <Rail entity={dataset} label={texts.rail.label}>
        <TrustSummary urn={dataset.urn} />
        <RailForms urn={dataset.urn} />
      </Rail>
      <Columns
        urn={dataset.urn}
        right={rightTo(dataset.privileges, "canEditSchemaFieldDescription")}
        labelRights={{
          tags: rightTo(dataset.privileges, "canEditSchemaFieldTags"),
          terms: rightTo(dataset.privileges, "canEditSchemaFieldGlossaryTerms"),
        }}
      />
      {/* Nothing until it is there: most datasets are not views. */}
      <Suspense fallback={null}>
        <ViewDefinition urn={dataset.urn} />
      </Suspense>
    </div>
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
