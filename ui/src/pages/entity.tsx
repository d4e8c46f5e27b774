import { Suspense, lazy } from "react";
import { Link, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { isNotFound } from "../api/client.ts";
import { loadChunk } from "../components/chunks.ts";
import { Avatar } from "../components/avatar.tsx";
import { EntityLink } from "../components/common.tsx";
import { EntityTabs } from "../components/sections.tsx";
import {
  EmptyState,
  ErrorMessage,
  Skeleton,
  StaleNotice,
  useLastKnown,
  useTitle,
} from "../components/states.tsx";
import { Description } from "../description/description.tsx";
import { lastEditOf } from "../description/saved_description.ts";
import { ancestorsOf, descriptionsOf, externalUrlOf, memberFilter } from "../entity/about.ts";
import { AddAssets } from "../entity/add_assets.tsx";
import { Members } from "../entity/members.tsx";
import {
  DescriptionHistoryDocument,
  EntityPageDocument,
  type EntityPageQuery,
} from "../generated/operations.ts";
import { EntityHistory } from "../history/entity_history.tsx";
import { GlossaryActions } from "../glossary/actions.tsx";
import { RelatedTerms } from "../glossary/related.tsx";
import { KindIcon } from "../icons/icon.tsx";
import { PlatformIcon } from "../icons/platform_icon.tsx";
import { nameOf } from "../names.ts";
import { GroupActions } from "../people/group_actions.tsx";
import { GroupMembers } from "../people/members.tsx";
import { GroupsOfUser, OwnedKinds } from "../people/owned.tsx";
import { Profile, ProfileActions } from "../people/profile.tsx";
import { ProductActions } from "../products/actions.tsx";
import { ProductMembers } from "../products/members.tsx";
import { canChange, rightTo, type Right } from "../privileges.ts";
import { Rail, type Governed, type RailProperties } from "../rail/rail.tsx";
import { TagActions } from "../tags/actions.tsx";
import { useTagPrivileges } from "../tags/privileges.ts";
import { PendingProposals } from "../proposals/pending.tsx";
import { texts } from "../texts.ts";

type Entity = NonNullable<EntityPageQuery["entity"]>;

const Lineage = lazy(() => loadChunk(import("../lineage/lineage.tsx")));
// Each is for a few types, and below the fold.
const PlatformContents = lazy(async () => ({
  default: (await loadChunk(import("../browse/tree.tsx"))).PlatformContents,
}));
const Connections = lazy(async () => ({
  default: (await loadChunk(import("../entity/connections.tsx"))).Connections,
}));
/** The tab with the lineage, as in DataHub. */
const LINEAGE = "Lineage";
const WITH_LINEAGE = ["DASHBOARD", "CHART", "DATA_FLOW", "DATA_JOB"];

interface EntityPageProperties {
  readonly urn: string;
  /** The tab in the address. */
  readonly tab?: string | undefined;
}

/** The page of a tag, a term, a person, a container or another entity without a page of its own. */
export default function EntityPage({ urn, tab }: EntityPageProperties) {
  const read = useApiQuery(EntityPageDocument, { urn });
  const latest = read.data?.entity ?? undefined;
  const entity = useLastKnown(latest !== undefined && exists(latest) ? latest : undefined);
  const isHistory = new URLSearchParams(useSearch()).get("show") === "history";
  const hasLineage = entity !== undefined && WITH_LINEAGE.includes(entity.type);
  const isLineage = hasLineage && !isHistory && tab === LINEAGE;
  useTitle(entity === undefined ? undefined : titleOf(nameOf(entity), isHistory, isLineage));
  if (read.isPending) return <Skeleton lines={10} />;
  if (read.isLoadingError && !isNotFound(read.error))
    return <ErrorMessage error={read.error} retry={() => void read.refetch()} />;
  if (entity === undefined) return <Missing />;
  const field = memberFilter(entity.type);
  const words = texts.entityTypes[entity.type];
  const EntityRail = entity.type === "TAG" ? TagRail : Rail;
  const { privileges }: Governed = entity;
  return (
    <article className="entity">
      <StaleNotice read={read} />
      <Header entity={entity} />
      <EntityTabs
        address={addresses.entity(urn)}
        label={texts.entity.tabsLabel}
        isHistory={isHistory}
        others={
          hasLineage
            ? [
                {
                  address: addresses.lineage(urn),
                  label: texts.dataset.tabs.lineage,
                  isCurrent: isLineage,
                },
              ]
            : []
        }
      />
      {isHistory && <EntityHistory urn={urn} />}
      {isLineage && (
        <Suspense fallback={<Skeleton lines={6} />}>
          <Lineage urn={urn} />
        </Suspense>
      )}
      {!isHistory && !isLineage && (
        <div className="with-rail">
          <About entity={entity} />
          <EntityRail entity={entity} label={texts.entity.about(words?.one ?? "")}>
            {entity.type === "GLOSSARY_TERM" && (
              <RelatedTerms term={entity} canEdit={privileges?.canManageEntity === true} />
            )}
            {entity.type === "CORP_USER" && <GroupsOfUser urn={entity.urn} />}
          </EntityRail>
          <Suspense fallback={<Skeleton />}>
            <Related entity={entity} />
          </Suspense>
          {field !== undefined && (
            <Members
              heading={texts.entity.members[entity.type] ?? texts.entity.contents}
              field={field}
              values={[entity.urn]}
              action={<AddToEntity entity={entity} />}
            />
          )}
          {entity.type === "DATA_PRODUCT" && (
            <ProductMembers
              heading={texts.entity.members[entity.type] ?? texts.entity.contents}
              urn={entity.urn}
            />
          )}
        </div>
      )}
    </article>
  );
}

function titleOf(name: string, isHistory: boolean, isLineage: boolean): string {
  if (isHistory) return texts.history.title(name);
  return isLineage ? texts.dataset.tabTitle(texts.dataset.tabs.lineage, name) : name;
}

const exists = (entity: Entity) => !("exists" in entity) || entity.exists !== false;

function Header({ entity }: { readonly entity: Entity }) {
  const ancestors = ancestorsOf(entity);
  const external = externalUrlOf(entity);
  const subType = "subTypes" in entity ? entity.subTypes?.typeNames?.[0] : undefined;
  const isActor = entity.type === "CORP_USER" || entity.type === "CORP_GROUP";
  const color = "tagProperties" in entity ? entity.tagProperties?.colorHex : undefined;
  return (
    <header className="entity-header">
      {ancestors.length > 0 && (
        <ol className="breadcrumb">
          {ancestors.map((ancestor) => (
            <li key={ancestor.urn}>
              <EntityLink entity={ancestor} />
            </li>
          ))}
        </ol>
      )}
      <div className="title-row">
        {isActor && <Avatar actor={entity} />}
        {entity.type === "DATA_PLATFORM" && <PlatformIcon urn={entity.urn} />}
        {color !== null && color !== undefined && (
          <span className="tag-dot" style={{ backgroundColor: color }} aria-hidden="true" />
        )}
        <h1 dir="auto">{nameOf(entity)}</h1>
        <Actions entity={entity} />
      </div>
      <p className="hint">
        <span className="with-icon">
          <KindIcon type={entity.type} subType={subType} />
          {subType ?? texts.entityTypes[entity.type]?.one ?? entity.type}
        </span>
        {external !== undefined && (
          <>
            {" · "}
            <a href={external} rel="noopener noreferrer">
              {texts.entity.external}
            </a>
          </>
        )}
      </p>
      <PendingProposals urn={entity.urn} />
    </header>
  );
}

/** Who may describe a tag or a term may offer to use it; the API decides for each asset. */
function AddToEntity({ entity }: { readonly entity: Entity }) {
  const privileges = "privileges" in entity ? entity.privileges : undefined;
  if (entity.type === "TAG") return <AddToTag tag={entity} />;
  if (entity.type === "GLOSSARY_TERM" && canChange(privileges, "canEditDescription"))
    return <AddAssets type="GLOSSARY_TERM" urn={entity.urn} name={nameOf(entity)} />;
  return null;
}

/** Tags have no `privileges` of their own. */
function AddToTag({ tag }: { readonly tag: Entity }) {
  const { canEditDescription } = useTagPrivileges(tag.urn);
  return canEditDescription ? <AddAssets type="TAG" urn={tag.urn} name={nameOf(tag)} /> : null;
}

/** What an entity is connected to, besides its members. */
function Related({ entity }: { readonly entity: Entity }) {
  switch (entity.type) {
    case "CORP_USER":
    case "CORP_GROUP":
      return <OwnedKinds urn={entity.urn} />;
    case "DATA_PLATFORM":
      return <PlatformContents urn={entity.urn} />;
    case "DASHBOARD":
    case "CHART":
    case "DATA_FLOW":
    case "DATA_JOB":
      return <Connections urn={entity.urn} type={entity.type} />;
    default:
      return null;
  }
}

/** What the user may do to the entity as a whole. */
function Actions({ entity }: { readonly entity: Entity }) {
  switch (entity.type) {
    case "GLOSSARY_TERM":
    case "GLOSSARY_NODE":
      return <GlossaryActions urn={entity.urn} />;
    case "TAG":
      return "tagProperties" in entity ? (
        <TagActions
          tag={{
            urn: entity.urn,
            name: nameOf(entity),
            color: entity.tagProperties?.colorHex ?? null,
          }}
        />
      ) : null;
    case "CORP_USER":
      return "contact" in entity ? <ProfileActions person={entity} /> : null;
    case "CORP_GROUP":
      return <GroupActions group={{ urn: entity.urn, name: nameOf(entity) }} />;
    case "DATA_PRODUCT":
      return <ProductActions urn={entity.urn} />;
    default:
      return null;
  }
}

/** Tags have no `privileges` of their own. */
function TagRail({ entity, ...others }: RailProperties) {
  const { canEditOwners } = useTagPrivileges(entity.urn);
  return <Rail entity={{ ...entity, privileges: { canEditOwners } }} {...others} />;
}

/** The description, or what is known about a person. */
function About({ entity }: { readonly entity: Entity }) {
  if (entity.type === "CORP_USER") return "contact" in entity ? <Profile person={entity} /> : null;
  if (entity.type === "DATA_PLATFORM") return null;
  if (entity.type === "TAG") return <TagDescription entity={entity} />;
  const privileges = "privileges" in entity ? entity.privileges : undefined;
  return (
    <>
      <EntityDescription entity={entity} right={rightTo(privileges, "canEditDescription")} />
      {entity.type === "CORP_GROUP" && <GroupMembers group={entity} />}
    </>
  );
}

/** Tags have no `privileges` of their own. */
function TagDescription({ entity }: { readonly entity: Entity }) {
  const { canEditDescription } = useTagPrivileges(entity.urn);
  return <EntityDescription entity={entity} right={canEditDescription ? "edit" : "none"} />;
}

/** The types whose imported description has a history. */
const WITH_IMPORTED = ["CONTAINER", ...WITH_LINEAGE];

/** The description, with its authors. */
function EntityDescription({ entity, right }: { readonly entity: Entity; readonly right: Right }) {
  const descriptions = descriptionsOf(entity);
  const hasImported = WITH_IMPORTED.includes(entity.type);
  const history = useApiQuery(
    DescriptionHistoryDocument,
    { urn: entity.urn, hasImported },
    { enabled: descriptions.edited !== "" || hasImported },
  );
  return (
    <Description
      urn={entity.urn}
      {...descriptions}
      editedBy={lastEditOf(history.data?.description)}
      importedBy={lastEditOf(history.data?.imported ?? undefined)}
      right={right}
    />
  );
}

function Missing() {
  useTitle(texts.errors.notFoundTitle);
  return (
    <EmptyState isPage title={texts.entity.missing} hint={texts.dataset.missingHint}>
      <Link href={addresses.search("")}>{texts.dataset.toSearch}</Link>
    </EmptyState>
  );
}
