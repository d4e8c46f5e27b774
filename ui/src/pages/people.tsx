import { useState } from "react";
import { Link, useLocation } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { countsOf } from "../browse/counts.ts";
import { EntityList, type ListedEntity } from "../browse/list.tsx";
import { Avatar } from "../components/avatar.tsx";
import { plainText } from "../components/plain_text.ts";
import { ValueCountsDocument } from "../generated/operations.ts";
import { CreateGroupDialog } from "../people/group_actions.tsx";
import { GROUP_CREATORS } from "../people/group_privileges.ts";
import { useRights } from "../rights.ts";
import { peopleTexts } from "../people_texts.ts";
import { texts } from "../texts.ts";

/** How much a user or group owns, once that is known. */
function useOwned(): (entity: ListedEntity) => string {
  const read = useApiQuery(ValueCountsDocument, { facets: ["owners"] });
  const counts = countsOf(read.data, "owners");
  return ({ urn }) => (read.data === undefined ? "" : texts.number(counts.get(urn) ?? 0));
}

function PeopleTabs() {
  const [location] = useLocation();
  const tabs = [
    [addresses.people, peopleTexts.users.title],
    [addresses.groups, peopleTexts.groups.title],
  ] as const;
  return (
    <nav className="tabs" aria-label={peopleTexts.tabs}>
      {tabs.map(([address, title]) => (
        <Link key={address} href={address} aria-current={location === address ? "page" : undefined}>
          {title}
        </Link>
      ))}
    </nav>
  );
}

/** All users, with what they own. */
export function UsersPage() {
  const words = peopleTexts.users;
  const owned = useOwned();
  const contactOf = (entity: ListedEntity) => ("contact" in entity ? entity : undefined);
  return (
    <EntityList
      path={addresses.people}
      type="CORP_USER"
      words={words}
      mark={(entity) => <Avatar actor={entity} />}
      columns={[
        {
          title: words.columns.title,
          cell: (entity) => contactOf(entity)?.contact?.title || contactOf(entity)?.profile?.title,
        },
        {
          title: words.columns.email,
          cell: (entity) => contactOf(entity)?.contact?.email || contactOf(entity)?.profile?.email,
        },
        { title: words.columns.owns, kind: "number", cell: owned },
      ]}
    >
      <PeopleTabs />
    </EntityList>
  );
}

/** All groups, with their members and what they own. */
export function GroupsPage() {
  const words = peopleTexts.groups;
  const owned = useOwned();
  const [, navigate] = useLocation();
  const [isCreating, setCreating] = useState(false);
  const canCreate = useRights().has(...GROUP_CREATORS);
  const groupOf = (entity: ListedEntity) => ("groupProperties" in entity ? entity : undefined);
  const descriptionOf = (entity: ListedEntity) =>
    groupOf(entity)?.edits?.description || groupOf(entity)?.groupProperties?.description || "";
  return (
    <>
      <EntityList
        path={addresses.groups}
        type="CORP_GROUP"
        words={words}
        mark={(entity) => <Avatar actor={entity} />}
        columns={[
          {
            title: words.columns.description,
            kind: "text",
            cell: (entity) => plainText(descriptionOf(entity)),
          },
          {
            title: words.columns.members,
            kind: "number",
            cell: (entity) => texts.number(groupOf(entity)?.members?.total ?? 0),
          },
          { title: words.columns.owns, kind: "number", cell: owned },
        ]}
        actions={
          canCreate && (
            <button type="button" onClick={() => setCreating(true)}>
              {words.create}
            </button>
          )
        }
      >
        <PeopleTabs />
      </EntityList>
      {isCreating && (
        <CreateGroupDialog
          onClose={() => setCreating(false)}
          onCreated={(urn) => navigate(addresses.entity(urn))}
        />
      )}
    </>
  );
}
