import { Link, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useRead } from "../api/cache.ts";
import { isMissing } from "../api/client.ts";
import { Sections } from "../components/sections.tsx";
import { EntityLink } from "../components/small.tsx";
import { Empty, Gone, Outdated, Problem, Skeleton, useLastSeen, useTitle } from "../components/states.tsx";
import { readablePath } from "../dataset/field_path.ts";
import { Columns } from "../dataset/columns.tsx";
import { Facts } from "../dataset/facts.tsx";
import { Links } from "../dataset/links.tsx";
import { Description } from "../description/description.tsx";
import { authorOf } from "../description/stored.ts";
import { DatasetDocument, DatasetHistoryDocument, type DatasetQuery } from "../generated/operations.ts";
import { ColumnHistory, DatasetHistory } from "../history/history.tsx";
import { nameOf } from "../names.ts";
import { texts } from "../texts.ts";

type Dataset = NonNullable<DatasetQuery["dataset"]>;

export default function DatasetPage({ urn }: { readonly urn: string }) {
  const read = useRead(DatasetDocument, { urn });
  const found = read.data?.dataset;
  const dataset = useLastSeen(found?.exists === false ? undefined : found);
  const isGone = read.isRefetchError ? isMissing(read.error) : found !== dataset;
  const parameters = new URLSearchParams(useSearch());
  const column = parameters.get("column");
  const isHistory = parameters.get("show") === "history";
  const name = nameOf(dataset ?? { urn });
  const subject = column === null ? name : texts.history.columnOf(readablePath(column), name);
  const title = isHistory ? texts.history.title(subject) : name;
  useTitle(read.isLoadingError || dataset === undefined ? undefined : title);

  if (read.isPending) return <Skeleton lines={10} />;
  if (read.isLoadingError) {
    return isMissing(read.error) ? <Missing /> : <Problem error={read.error} retry={() => void read.refetch()} />;
  }
  if (dataset === undefined) return <Missing />;
  return (
    <article className="entity">
      {isGone ? <Gone notice={texts.dataset.gone} /> : <Outdated read={read} />}
      <DatasetHead dataset={dataset} />
      <Sections address={addresses.dataset(urn)} label={texts.dataset.sectionsLabel} isHistory={isHistory} />
      {!isHistory && <Overview dataset={dataset} />}
      {isHistory && column === null && <DatasetHistory dataset={dataset} />}
      {isHistory && column !== null && <ColumnHistory dataset={dataset} column={column} />}
    </article>
  );
}

function Overview({ dataset }: { readonly dataset: Dataset }) {
  const history = useRead(DatasetHistoryDocument, { urn: dataset.urn });
  return (
    <>
      <Facts dataset={dataset} />
      <Description
        urn={dataset.urn}
        written={dataset.editableProperties?.description ?? ""}
        writtenBy={authorOf(history.data?.description)}
        ingested={dataset.properties?.description ?? ""}
        ingestedBy={authorOf(history.data?.ingested)}
        canEdit={dataset.privileges?.canEditDescription === true}
      />
      <Links
        urn={dataset.urn}
        links={dataset.institutionalMemory?.elements ?? []}
        canEdit={dataset.privileges?.canEditLinks === true}
      />
      <Columns urn={dataset.urn} canEdit={dataset.privileges?.canEditSchemaFieldDescription === true} />
    </>
  );
}

function DatasetHead({ dataset }: { readonly dataset: Dataset }) {
  const containers = [...(dataset.parentContainers?.containers ?? [])].reverse();
  const kind = dataset.subTypes?.typeNames?.[0] ?? texts.kinds["DATASET"]?.one;
  const external = dataset.properties?.externalUrl;
  return (
    <header className="entity-head">
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
      <h1>{nameOf(dataset)}</h1>
      <p className="hint">
        {kind} · {nameOf(dataset.platform)}
        {external !== null && external !== undefined && /^https?:/.test(external) && (
          <>
            {" · "}
            <a href={external} rel="noopener noreferrer">
              {texts.dataset.external}
            </a>
          </>
        )}
      </p>
      {dataset.status?.removed === true && <p className="notice">{texts.dataset.removed}</p>}
      {dataset.deprecation?.deprecated === true && (
        <p className="notice">
          {texts.dataset.deprecated} {dataset.deprecation.note}
        </p>
      )}
    </header>
  );
}

function Missing() {
  useTitle(texts.errors.notFoundTitle);
  return (
    <Empty isPage title={texts.dataset.missing} hint={texts.dataset.missingHint}>
      <Link href={addresses.search("")}>{texts.dataset.toSearch}</Link>
    </Empty>
  );
}
