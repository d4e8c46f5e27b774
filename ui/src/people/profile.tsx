import { useState } from "react";

import { useApiMutation } from "../api/cache.ts";
import { FormDialog, fieldOf } from "../components/form_dialog.tsx";
import { focusOnMount } from "../components/focus.ts";
import { Markdown } from "../components/markdown.tsx";
import { UpdateProfileDocument, type EntityPageQuery } from "../generated/operations.ts";
import { Icon } from "../icons/icon.tsx";
import { nameOf } from "../names.ts";
import { useRights } from "../rights.ts";
import { texts } from "../texts.ts";

type Entity = NonNullable<EntityPageQuery["entity"]>;
type Person = Extract<Entity, { readonly contact?: unknown }>;

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
      {isEditing && <ProfileDialog person={person} onClose={() => setEditing(false)} />}
    </>
  );
}

function ProfileDialog({
  person,
  onClose,
}: {
  readonly person: Person;
  readonly onClose: () => void;
}) {
  const words = texts.entity.person;
  const update = useApiMutation(UpdateProfileDocument);
  const { contact, profile } = person;
  const shown = {
    displayName: nameOf(person),
    title: contact?.title ?? profile?.title ?? "",
    email: contact?.email ?? profile?.email ?? "",
    slack: contact?.slack ?? "",
    phone: contact?.phone ?? "",
    pictureLink: person.picture?.pictureLink ?? "",
    aboutMe: contact?.aboutMe ?? "",
  };
  const submit = (form: FormData) => {
    // What is not changed stays as it is imported.
    const changed = Object.entries(shown)
      .map(([name, before]) => [name, fieldOf(form, name), before] as const)
      .filter(([, value, before]) => value !== before)
      .map(([name, value]) => [name, value] as const);
    update.mutate({ urn: person.urn, input: Object.fromEntries(changed) }, { onSuccess: onClose });
  };
  return (
    <FormDialog
      title={words.editTitle(nameOf(person))}
      submit={words.save}
      isBusy={update.isPending}
      error={update.error}
      onSubmit={submit}
      onClose={onClose}
    >
      <label>
        {words.name}
        <input name="displayName" dir="auto" defaultValue={shown.displayName} ref={focusOnMount} />
      </label>
      <label>
        {words.title}
        <input name="title" dir="auto" defaultValue={shown.title} />
      </label>
      <label>
        {words.email}
        <input name="email" type="email" defaultValue={shown.email} />
      </label>
      <div className="field-row">
        <label>
          {words.slack}
          <input name="slack" dir="auto" defaultValue={shown.slack} />
        </label>
        <label>
          {words.phone}
          <input name="phone" type="tel" defaultValue={shown.phone} />
        </label>
      </div>
      <label>
        {words.picture}
        <input name="pictureLink" dir="ltr" defaultValue={shown.pictureLink} />
        <span className="hint">{words.pictureHint}</span>
      </label>
      <label>
        <span>
          {words.about} <span className="hint">{texts.domains.optional}</span>
        </span>
        <textarea name="aboutMe" dir="auto" rows={4} defaultValue={shown.aboutMe} />
      </label>
    </FormDialog>
  );
}
