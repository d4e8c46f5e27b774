import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { isNotFound } from "../api/client.ts";
import { Avatar } from "../components/avatar.tsx";
import { EntityLink } from "../components/common.tsx";
import {
  EmptyState,
  ErrorMessage,
  Skeleton,
  StaleNotice,
  useLastKnown,
  useTitle,
} from "../components/states.tsx";
import { Description } from "../description/description.tsx";
import { ancestorsOf, descriptionsOf, externalUrlOf, memberFilter } from "../entity/about.ts";
import { Members } from "../entity/members.tsx";
import { EntityPageDocument, type EntityPageQuery } from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { canChange } from "../privileges.ts";
import { Rail } from "../rail/rail.tsx";
import { texts } from "../texts.ts";

type Entity = NonNullable<EntityPageQuery["entity"]>;

/** The page of a tag, a term, a person, a container or another entity without a page of its own. */
export default function EntityPage({ urn }: { readonly urn: string }) {
  const read = useApiQuery(EntityPageDocument, { urn });
  const latest = read.data?.entity ?? undefined;
  const entity = useLastKnown(latest !== undefined && exists(latest) ? latest : undefined);
  useTitle(entity === undefined ? undefined : nameOf(entity));
  if (read.isPending) return <Skeleton lines={10} />;
  if (read.isLoadingError && !isNotFound(read.error))
    return <ErrorMessage error={read.error} retry={() => void read.refetch()} />;
  if (entity === undefined) return <Missing />;
  const field = memberFilter(entity.type);
  const words = texts.entityTypes[entity.type];
  return (
    <article className="entity">
      <StaleNotice read={read} />
      <Header entity={entity} />
      <div className="with-rail">
        <About entity={entity} />
        <Rail entity={entity} label={texts.entity.about(words?.one ?? "")} />
        {field !== undefined && (
          <Members
            heading={texts.entity.members[entity.type] ?? texts.entity.contents}
            field={field}
            urn={entity.urn}
          />
        )}
      </div>
    </article>
  );
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
        {color !== null && color !== undefined && (
          <span className="tag-dot" style={{ background: color }} aria-hidden="true" />
        )}
        <h1 dir="auto">{nameOf(entity)}</h1>
      </div>
      <p className="hint">
        {subType ?? texts.entityTypes[entity.type]?.one ?? entity.type}
        {external !== undefined && (
          <>
            {" · "}
            <a href={external} rel="noopener noreferrer">
              {texts.entity.external}
            </a>
          </>
        )}
      </p>
    </header>
  );
}

/** The description, or what is known about a person. */
function About({ entity }: { readonly entity: Entity }) {
  if (entity.type === "CORP_USER") return <Person entity={entity} />;
  if (entity.type === "DATA_PLATFORM") return null;
  const privileges = "privileges" in entity ? entity.privileges : undefined;
  return (
    <>
      <Description
        urn={entity.urn}
        {...descriptionsOf(entity)}
        canEdit={canChange(privileges, "canEditDescription")}
      />
      {"members" in entity && (
        <section className="section" aria-labelledby="group-members">
          <h2 id="group-members">{texts.entity.groupMembers(entity.members?.total ?? 0)}</h2>
          <ul className="owner-list">
            {(entity.members?.relationships ?? []).map(({ entity: member }) =>
              member === null || member === undefined ? null : (
                <li key={member.urn}>
                  <Avatar actor={member} />
                  <EntityLink entity={member} />
                </li>
              ),
            )}
          </ul>
        </section>
      )}
    </>
  );
}

function Person({ entity }: { readonly entity: Entity }) {
  if (!("contact" in entity)) return null;
  const { contact, profile } = entity;
  const email = contact?.email ?? profile?.email;
  const facts: readonly (readonly [string, string | null | undefined])[] = [
    [texts.entity.person.title, contact?.title ?? profile?.title],
    [texts.entity.person.department, profile?.departmentName],
    [texts.entity.person.slack, contact?.slack],
    [texts.entity.person.phone, contact?.phone],
    [texts.entity.person.about, contact?.aboutMe],
  ];
  return (
    <dl className="property-list section">
      {email !== null && email !== undefined && email !== "" && (
        <div>
          <dt>{texts.entity.person.email}</dt>
          <dd>
            <a href={`mailto:${email}`}>{email}</a>
          </dd>
        </div>
      )}
      {facts.map(([name, value]) =>
        value === null || value === undefined || value === "" ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd dir="auto">{value}</dd>
          </div>
        ),
      )}
    </dl>
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
