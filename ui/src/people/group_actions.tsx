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
import { Menu } from "../components/menu.tsx";
import { LoadingOrError, StaleNotice, combineReads } from "../components/states.tsx";
import { useCarriers } from "../entity/carriers.tsx";
import {
  CreateGroupDocument,
  DeleteGroupDocument,
  GroupMembersDocument,
  RenameDocument,
} from "../generated/operations.ts";
import { texts } from "../texts.ts";
import { useGroupPrivileges } from "./members.tsx";

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
  const words = texts.people.groups;
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
  const words = texts.people.groups;
  const submit = (form: FormData) => {
    const name = fieldOf(form, "name");
    setInvalid(name === "" ? words.nameMissing : null);
    if (name === "") return;
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
      onSubmit={submit}
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
  const words = texts.people.groups;
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

function DeleteGroupDialog({
  group,
  onClose,
  onDeleted,
}: {
  readonly group: NamedGroup;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}) {
  const members = useApiQuery(GroupMembersDocument, { urn: group.urn, count: 0 });
  const owned = useCarriers(["owners"], group.urn);
  const isReady = members.isSuccess && owned.isSuccess;
  const read = combineReads(members, owned);
  return (
    <DeleteDialog
      name={group.name}
      isReady={isReady}
      onDelete={() => run(DeleteGroupDocument, { urn: group.urn })}
      onClose={onClose}
      onDeleted={onDeleted}
    >
      {!isReady && <LoadingOrError read={read} lines={2} />}
      <StaleNotice read={read} />
      {isReady && (
        <p>
          {texts.people.groups.deletePreview(
            members.data.corpGroup?.members?.total ?? 0,
            owned.data.searchAcrossEntities?.total ?? 0,
          )}
        </p>
      )}
    </DeleteDialog>
  );
}
