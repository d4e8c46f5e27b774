import { Suspense, lazy, useState } from "react";

import { loadChunk } from "../components/chunks.ts";
import { Markdown } from "../components/markdown.tsx";
import type { EntityPageQuery } from "../generated/operations.ts";
import { Icon } from "../icons/icon.tsx";
import { useRights } from "../rights.ts";
import { texts } from "../texts.ts";

const ProfileDialog = lazy(async () => ({
  default: (await loadChunk(import("./profile_dialog.tsx"))).ProfileDialog,
}));

type Entity = NonNullable<EntityPageQuery["entity"]>;
export type Person = Extract<Entity, { readonly contact?: unknown }>;

/** What is known about a person. */
export function Profile({ person }: { readonly person: Person }) {
  const words = texts.entity.person;
  const { contact, profile } = person;
  const email = contact?.email ?? profile?.email;
  const facts: readonly (readonly [string, string | null | undefined])[] = [
    [words.title, contact?.title ?? profile?.title],
    [words.department, profile?.departmentName],
    [words.slack, contact?.slack],
    [words.phone, contact?.phone],
  ];
  return (
    <dl className="property-list section">
      {email !== null && email !== undefined && email !== "" && (
        <div>
          <dt>{words.email}</dt>
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
      {(contact?.aboutMe ?? "") !== "" && (
        <div>
          <dt>{words.about}</dt>
          <dd>
            <Markdown text={contact?.aboutMe ?? ""} />
          </dd>
        </div>
      )}
    </dl>
  );
}

const EDITORS = ["EDIT_USER_PROFILE", "EDIT_ENTITY", "MANAGE_USERS_AND_GROUPS", "UPDATE_USERS"];

/** Edits a profile: one's own, or that of others with the privilege. */
export function ProfileActions({ person }: { readonly person: Person }) {
  const rights = useRights({ type: "CORP_USER", urn: person.urn });
  const [isEditing, setEditing] = useState(false);
  if (rights.user !== person.urn && !rights.has(...EDITORS)) return null;
  return (
    <>
      <button type="button" className="subtle" onClick={() => setEditing(true)}>
        <Icon name="edit" />
        {texts.entity.person.edit}
      </button>
      <Suspense>
        {isEditing && <ProfileDialog person={person} onClose={() => setEditing(false)} />}
      </Suspense>
    </>
  );
}
