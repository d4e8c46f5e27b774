import { useState } from "react";

import { useApiMutation } from "../api/cache.ts";
import { FormDialog, fieldOf } from "../components/form_dialog.tsx";
import { focusOnMount } from "../components/focus.ts";
import { UpdateProfileDocument } from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { texts } from "../texts.ts";
import type { Person } from "./profile.tsx";

/** Edits what a profile shows. What is not changed stays as it is imported. */
export function ProfileDialog({
  person,
  onClose,
}: {
  readonly person: Person;
  readonly onClose: () => void;
}) {
  const words = texts.entity.person;
  const update = useApiMutation(UpdateProfileDocument);
  const [problem, setProblem] = useState<string | null>(null);
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
    const isAddress = /^$|^[^\s@]+@[^\s@]+$/.test(fieldOf(form, "email"));
    setProblem(isAddress ? null : words.emailInvalid);
    if (!isAddress) return;
    const changed = Object.entries(shown)
      .map(([name, before]) => [name, fieldOf(form, name), normalized(before)] as const)
      .filter(([, value, before]) => normalized(value) !== before)
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
        <input
          name="email"
          type="email"
          defaultValue={shown.email}
          aria-invalid={problem !== null}
          aria-describedby="profile-email-error"
        />
        <span id="profile-email-error" className="field-error" role="alert">
          {problem}
        </span>
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

/** As a field returns a text: with the line ends of the browser, and without blanks around it. */
const normalized = (text: string) => text.replaceAll("\r\n", "\n").trim();
