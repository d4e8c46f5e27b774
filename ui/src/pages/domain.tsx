import { useState } from "react";
import { Link, useLocation, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useRead } from "../api/cache.ts";
import { isMissing } from "../api/client.ts";
import { Sections } from "../components/sections.tsx";
import { Sentence } from "../components/sentence.tsx";
import { EntityLink, Stamp } from "../components/small.tsx";
import { Empty, Gone, Outdated, Problem, Skeleton, useLastSeen, useTitle } from "../components/states.tsx";
import { Description } from "../description/description.tsx";
import { authorOf } from "../description/stored.ts";
import { DomainDatasets } from "../domains/datasets.tsx";
import { DomainDialogs, type DomainAction } from "../domains/dialogs.tsx";
import { DomainMenu } from "../domains/tree.tsx";
import { useForest, type Tree } from "../forest.ts";
import { DomainDocument, DomainHistoryDocument, type DomainQuery } from "../generated/operations.ts";
import { DomainHistory } from "../history/history.tsx";
import { nameOf } from "../names.ts";
import { texts } from "../texts.ts";

type Domain = NonNullable<DomainQuery["domain"]>;

export default function DomainPage({ urn }: { readonly urn: string }) {
  const read = useRead(DomainDocument, { urn });
  const found = read.data?.domain;
  const domain = useLastSeen(found);
  const isGone = read.isRefetchError ? isMissing(read.error) : found !== domain;
  const isHistory = new URLSearchParams(useSearch()).get("show") === "history";
  const name = nameOf(domain ?? { urn });
  const title = isHistory ? texts.history.title(name) : name;
  useTitle(read.isLoadingError ? undefined : title);
  if (read.isPending) return <Skeleton lines={10} />;
  if (read.isLoadingError) {
    return isMissing(read.error) ? <Missing /> : <Problem error={read.error} retry={() => void read.refetch()} />;
  }
  if (domain === undefined) return <Missing />;
  return (
    <article className="entity">
      {isGone ? <Gone notice={texts.domain.gone} /> : <Outdated read={read} />}
      <DomainHead domain={domain} />
      <Sections address={addresses.domain(urn)} label={texts.domain.sectionsLabel} isHistory={isHistory} />
      {isHistory ? <DomainHistory domain={domain} /> : <Overview domain={domain} />}
    </article>
  );
}

function DomainHead({ domain }: { readonly domain: Domain }) {
  const [action, setAction] = useState<DomainAction | null>(null);
  const [, navigate] = useLocation();
  const { forest } = useForest();
  const tree = forest?.byUrn.get(domain.urn);
  const parents = [...(domain.parentDomains?.domains ?? [])].reverse();
  const owners = domain.ownership?.owners ?? [];
  const created = domain.properties?.createdOn;
  return (
    <header className="entity-head">
      <ol className="breadcrumb">
        <li>
          <Link href={addresses.domains}>{texts.domains.title}</Link>
        </li>
        {parents.map((parent) => (
          <li key={parent.urn}>
            <EntityLink entity={parent} />
          </li>
        ))}
      </ol>
      <div className="title-line">
        <h1>{nameOf(domain)}</h1>
        {tree !== undefined && <DomainMenu tree={tree} onAction={setAction} />}
      </div>
      <p className="hint">
        {texts.kinds["DOMAIN"]?.one}
        {tree !== undefined && ` · ${texts.domains.counts(tree.direct, tree.recursive)}`}
        {owners.length > 0 && ` · ${texts.domain.owners(owners.map(({ owner }) => nameOf(owner)))}`}
        {created !== null && created !== undefined && created.time > 0 && (
          <>
            {" · "}
            <Sentence
              text={texts.domain.created}
              parts={{ stamp: <Stamp actor={created.actor} time={created.time} /> }}
            />
          </>
        )}
      </p>
      {forest !== undefined && (
        <DomainDialogs
          action={action}
          forest={forest}
          onClose={() => setAction(null)}
          onDeleted={() => navigate(addresses.domains)}
        />
      )}
    </header>
  );
}

function Overview({ domain }: { readonly domain: Domain }) {
  const history = useRead(DomainHistoryDocument, { urn: domain.urn });
  const { forest } = useForest();
  const tree = forest?.byUrn.get(domain.urn);
  return (
    <>
      <Description
        urn={domain.urn}
        written={domain.properties?.description ?? ""}
        writtenBy={authorOf(history.data?.description)}
        canEdit={domain.privileges?.canEditDescription === true}
      />
      {tree !== undefined && tree.children.length > 0 && <Children tree={tree} />}
      <DomainDatasets urn={domain.urn} hasChildren={tree !== undefined && tree.children.length > 0} />
    </>
  );
}

function Children({ tree }: { readonly tree: Tree }) {
  return (
    <section className="section" aria-labelledby="children">
      <h2 id="children">{texts.domain.children}</h2>
      <ul className="lines narrow">
        {tree.children.map((child) => (
          <li key={child.urn}>
            <Link href={addresses.domain(child.urn)}>{child.name}</Link>
            <span className="number">{texts.number(child.recursive)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Missing() {
  useTitle(texts.errors.notFoundTitle);
  return (
    <Empty isPage title={texts.domain.missing} hint={texts.domain.missingHint}>
      <Link href={addresses.domains}>{texts.domains.title}</Link>
    </Empty>
  );
}
