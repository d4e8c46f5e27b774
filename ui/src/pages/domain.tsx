import { useState } from "react";
import { Link, useLocation, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { isNotFound } from "../api/client.ts";
import { EntityTabs } from "../components/sections.tsx";
import { EntityLink, Byline } from "../components/common.tsx";
import {
  EmptyState,
  DeletedNotice,
  StaleNotice,
  ErrorMessage,
  Skeleton,
  useLastKnown,
  useTitle,
} from "../components/states.tsx";
import { Description } from "../description/description.tsx";
import { lastEditOf } from "../description/saved_description.ts";
import { DomainDatasets } from "../domains/datasets.tsx";
import { DomainDialogs, type DomainAction } from "../domains/dialogs.tsx";
import { Stewards } from "../domains/stewards.tsx";
import { DomainMenu } from "../domains/tree.tsx";
import { useDomainHierarchy, type DomainNode } from "../domain_hierarchy.ts";
import { AddAssets } from "../entity/add_assets.tsx";
import { Members } from "../entity/members.tsx";
import {
  DomainDocument,
  DomainHistoryDocument,
  type DomainQuery,
} from "../generated/operations.ts";
import { EntityHistory } from "../history/entity_history.tsx";
import { nameOf } from "../names.ts";
import { canChange, rightTo } from "../privileges.ts";
import { PendingProposals } from "../proposals/pending.tsx";
import { Rail } from "../rail/rail.tsx";
import { DOMAIN_SUBTREE, TYPES_WITH } from "../search/state.ts";
import { texts } from "../texts.ts";

type Domain = NonNullable<DomainQuery["domain"]>;

/** What can be in a domain, besides datasets. */
const OTHER_TYPES = TYPES_WITH.domains.filter((type) => type !== "DATASET");

export default function DomainPage({ urn }: { readonly urn: string }) {
  const read = useApiQuery(DomainDocument, { urn });
  const latest = read.data?.domain;
  const domain = useLastKnown(latest);
  const isDeleted = read.isRefetchError ? isNotFound(read.error) : latest !== domain;
  const isHistory = new URLSearchParams(useSearch()).get("show") === "history";
  const name = nameOf(domain ?? { urn });
  const title = isHistory ? texts.history.title(name) : name;
  useTitle(read.isLoadingError ? undefined : title);
  if (read.isPending) return <Skeleton lines={10} />;
  if (read.isLoadingError) {
    return isNotFound(read.error) ? (
      <Missing />
    ) : (
      <ErrorMessage error={read.error} retry={() => void read.refetch()} />
    );
  }
  if (domain === undefined) return <Missing />;
  return (
    <article className="entity">
      {isDeleted ? <DeletedNotice notice={texts.domain.deleted} /> : <StaleNotice read={read} />}
      <DomainHeader domain={domain} />
      <EntityTabs
        address={addresses.domain(urn)}
        label={texts.domain.tabsLabel}
        isHistory={isHistory}
      />
      {isHistory ? <EntityHistory urn={urn} /> : <Overview domain={domain} />}
    </article>
  );
}

function DomainHeader({ domain }: { readonly domain: Domain }) {
  const [action, setAction] = useState<DomainAction | null>(null);
  const [, navigate] = useLocation();
  const { hierarchy } = useDomainHierarchy();
  const node = hierarchy?.byUrn.get(domain.urn);
  const parents = [...(domain.parentDomains?.domains ?? [])].reverse();
  const created = domain.properties?.createdOn;
  return (
    <header className="entity-header">
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
      <div className="title-row">
        <h1 dir="auto">{nameOf(domain)}</h1>
        {node !== undefined && <DomainMenu node={node} onAction={setAction} />}
      </div>
      <p className="hint">
        {texts.entityTypes["DOMAIN"]?.one}
        {node !== undefined &&
          ` · ${texts.domains.counts(node.directDatasets, node.totalDatasets)}`}
        {created !== null && created !== undefined && created.time > 0 && (
          <>
            {" · "}
            <Byline
              actor={created.actor}
              time={created.time}
              by={texts.domain.createdBy}
              at={texts.domain.createdAt}
            />
          </>
        )}
      </p>
      <PendingProposals urn={domain.urn} />
      {hierarchy !== undefined && (
        <DomainDialogs
          action={action}
          hierarchy={hierarchy}
          onClose={() => setAction(null)}
          onDeleted={() => navigate(addresses.domains)}
        />
      )}
    </header>
  );
}

function Overview({ domain }: { readonly domain: Domain }) {
  const history = useApiQuery(DomainHistoryDocument, { urn: domain.urn });
  const { hierarchy } = useDomainHierarchy();
  const node = hierarchy?.byUrn.get(domain.urn);
  const includesSubdomains = new URLSearchParams(useSearch()).get("below") === "true";
  return (
    <div className="with-rail">
      <Description
        urn={domain.urn}
        edited={domain.properties?.description ?? ""}
        editedBy={lastEditOf(history.data?.description)}
        right={rightTo(domain.privileges, "canEditDescription")}
      />
      <Rail
        entity={{ ...domain, properties: null }}
        label={texts.entity.about(texts.entityTypes["DOMAIN"]?.one ?? "")}
      >
        <Stewards domain={domain} />
      </Rail>
      {node !== undefined && node.children.length > 0 && <Subdomains parent={node} />}
      <DomainDatasets
        urn={domain.urn}
        action={
          canChange(domain.privileges, "canEditDescription") && (
            <AddAssets type="DOMAIN" urn={domain.urn} name={nameOf(domain)} />
          )
        }
        hasSubdomains={node !== undefined && node.children.length > 0}
      />
      <Members
        heading={texts.domain.others}
        field={includesSubdomains ? DOMAIN_SUBTREE : "domains"}
        values={[domain.urn]}
        types={OTHER_TYPES}
        isOptional
      />
    </div>
  );
}

function Subdomains({ parent }: { readonly parent: DomainNode }) {
  return (
    <section className="section" aria-labelledby="subdomains">
      <h2 id="subdomains">{texts.domain.subdomains}</h2>
      <ul className="row-list narrow">
        {parent.children.map((child) => (
          <li key={child.urn}>
            <Link dir="auto" href={addresses.domain(child.urn)}>
              {child.name}
            </Link>
            <span className="number">{texts.number(child.totalDatasets)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Missing() {
  useTitle(texts.errors.notFoundTitle);
  return (
    <EmptyState isPage title={texts.domain.missing} hint={texts.domain.missingHint}>
      <Link href={addresses.domains}>{texts.domain.toDomains}</Link>
    </EmptyState>
  );
}
