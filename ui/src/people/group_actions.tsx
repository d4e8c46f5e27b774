// What changes a group as a whole: its creation, its name and its deletion.

import { useState } from "react";
import { useLocation } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { run } from "../api/client.ts";
import { DeleteDialog } from "../components/delete_dialog.tsx";
import {
  DescriptionField,
  FormDialog,
  NameField,
  closeThen,
  fieldOf,
} from "../components/form_dialog.tsx";
import { newNameProblem } from "../entity/by_name.ts";
import { Menu } from "../components/menu.tsx";
import { Impact } from "../components/impact.tsx";
import { LoadingOrError, StaleNotice, combineReads } from "../components/states.tsx";
import {
  BelongingsDocument,
  CreateGroupDocument,
  DeleteGroupDocument,
  GroupUseDocument,
  PoliciesDocument,
  RenameDocument,
} from "../generated/operations.ts";
import { useRights } from "../rights.ts";
import { peopleTexts } from "../people_texts.ts";
import { useGroupPrivileges } from "./group_privileges.ts";

interface NamedGroup {
  readonly urn: string;
  readonly name: string;
}

/** The menu on the page of a group. */
export function GroupActions({ group }: { readonly group: NamedGroup }) {
  const { canManage } = useGroupPrivileges(group.urn);
  const [action, setAction] = useState<"rename" | "delete" | null>(null);
  const [, navigate] = useLocation();
  if (!canManage) return null;
  const words = peopleTexts.groups;
  const close = () => setAction(null);
  return (
    <>
      <Menu
        label={words.actions(group.name)}
        trigger="⋯"
        items={[
          { label: words.rename, onSelect: () => setAction("rename") },
          { label: words.remove, onSelect: () => setAction("delete"), isDangerous: true },
        ]}
      />
      {action === "rename" && <RenameGroupDialog group={group} onClose={close} />}
      {action === "delete" && (
        <DeleteGroupDialog
          group={group}
          onClose={close}
          onDeleted={() => navigate(addresses.groups)}
        />
      )}
    </>
  );
}

export function CreateGroupDialog({
  onClose,
  onCreated,
}: {
  readonly onClose: () => void;
  readonly onCreated: (urn: string) => void;
}) {
  const [invalid, setInvalid] = useState<string | null>(null);
  const create = useApiMutation(CreateGroupDocument);
  const words = peopleTexts.groups;
  const submit = async (form: FormData) => {
    const name = fieldOf(form, "name");
    const problem = await newNameProblem("CORP_GROUP", name, words);
    setInvalid(problem);
    if (problem !== null) return;
    create.mutate(
      { name, description: fieldOf(form, "description") || null },
      {
        onSuccess: ({ createGroup: urn }) => {
          if (typeof urn === "string") closeThen(onClose, () => onCreated(urn));
        },
      },
    );
  };
  return (
    <FormDialog
      title={words.create}
      submit={words.createButton}
      isBusy={create.isPending}
      error={create.error}
      onSubmit={(form) => void submit(form)}
      onClose={onClose}
    >
      <NameField error={invalid} />
      <DescriptionField />
    </FormDialog>
  );
}

function RenameGroupDialog({
  group,
  onClose,
}: {
  readonly group: NamedGroup;
  readonly onClose: () => void;
}) {
  const [invalid, setInvalid] = useState<string | null>(null);
  const rename = useApiMutation(RenameDocument);
  const words = peopleTexts.groups;
  const submit = (form: FormData) => {
    const name = fieldOf(form, "name");
    setInvalid(name === "" ? words.nameMissing : null);
    if (name !== "") rename.mutate({ urn: group.urn, name }, { onSuccess: onClose });
  };
  return (
    <FormDialog
      title={words.renameTitle(group.name)}
      submit={words.renameButton}
      isBusy={rename.isPending}
      error={rename.error}
      onSubmit={submit}
      onClose={onClose}
    >
      <NameField error={invalid} value={group.name} />
    </FormDialog>
  );
}

/** Deletes a group, after it has said what that affects. */
export function DeleteGroupDialog({
  group,
  onClose,
  onDeleted,
}: {
  readonly group: NamedGroup;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}) {
  const words = peopleTexts.groups;
  const rights = useRights();
  const canSeePolicies = rights.has("MANAGE_POLICIES");
  const use = useApiQuery(GroupUseDocument, { urn: group.urn });
  const owned = useApiQuery(BelongingsDocument, { urn: group.urn });
  const policies = useApiQuery(PoliciesDocument, {}, { enabled: canSeePolicies });
  const isReady =
    rights.isKnown && use.isSuccess && owned.isSuccess && (!canSeePolicies || policies.isSuccess);
  const read = combineReads(use, owned, policies);
  const members = use.data?.corpGroup?.members?.total ?? 0;
  const assets = owned.data?.searchAcrossEntities?.total ?? 0;
  const roles = (use.data?.corpGroup?.roles?.relationships ?? []).flatMap(({ entity }) =>
    entity !== null && "name" in entity ? [entity.name] : [],
  );
  const named = (policies.data?.listPolicies?.policies ?? [])
    .filter(({ actors }) => actors.groups?.includes(group.urn) === true)
    .map(({ name }) => name);
  const sentences = [
    ...(members > 0 ? [words.deleteMembers(members)] : []),
    ...(assets > 0 ? [words.deleteOwned(assets)] : []),
    ...(roles.length > 0 ? [words.deleteRoles(roles)] : []),
    ...(named.length > 0 ? [words.deletePolicies(named)] : []),
  ];
  return (
    <DeleteDialog
      name={group.name}
      isReady={isReady}
      onDelete={() => run(DeleteGroupDocument, { urn: group.urn })}
      onClose={onClose}
      onDeleted={onDeleted}
    >
      <p>{words.deleteBody}</p>
      <StaleNotice read={read} />
      {isReady ? (
        <Impact sentences={sentences.length === 0 ? [words.deleteNothing] : sentences} />
      ) : (
        <LoadingOrError read={read} lines={2} />
      )}
    </DeleteDialog>
  );
}
