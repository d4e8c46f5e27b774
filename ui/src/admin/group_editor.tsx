import { useState } from "react";
import { Link, useLocation } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { Dialog } from "../components/dialog.tsx";
import { EmptyState, LoadingOrError, StaleNotice } from "../components/states.tsx";
import {
  DescribeGroupDocument,
  GroupDetailsDocument,
  RenameDocument,
  type GroupDetailsQuery,
} from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { adminTexts } from "../admin_texts.ts";
import { DeleteGroupDialog } from "../people/group_actions.tsx";
import { useGroupPrivileges } from "../people/group_privileges.ts";
import { groupDescription } from "./group_description.ts";
import { GroupActors } from "./group_actors.tsx";
import { NameForm } from "./name_form.tsx";

export type GroupDetails = NonNullable<GroupDetailsQuery["corpGroup"]>;

interface EditorProperties {
  readonly urn: string;
  readonly backAddress: string;
}

/** One group: its name, description, members and owners, and its deletion. */
export function GroupEditor({ urn, backAddress }: EditorProperties) {
  const words = adminTexts.groups;
  const [, navigate] = useLocation();
  const read = useApiQuery(GroupDetailsDocument, { urn });
  const { canManage, canEditMembers } = useGroupPrivileges(urn);
  const [isEditing, setEditing] = useState(false);
  const [isDeleting, setDeleting] = useState(false);
  const group = read.data?.corpGroup;
  return (
    <>
      <p>
        <Link href={backAddress}>← {words.back}</Link>
      </p>
      {read.data === undefined && <LoadingOrError read={read} />}
      <StaleNotice read={read} />
      {read.data !== undefined && (group === null || group?.exists === false) && (
        <EmptyState title={words.missing} />
      )}
      {group !== undefined && group !== null && group.exists === true && (
        <>
          <div className="section-header">
            <h3 dir="auto">{nameOf(group)}</h3>
            {group.privileges?.canEditDescription === true && (
              <button
                type="button"
                aria-label={words.editLabel(nameOf(group))}
                onClick={() => setEditing(true)}
              >
                {words.edit}
              </button>
            )}
            {canManage && (
              <button type="button" className="dangerous" onClick={() => setDeleting(true)}>
                {words.delete}
              </button>
            )}
            <Link href={addresses.entity(urn)}>{words.page}</Link>
          </div>
          {group.origin?.type === "EXTERNAL" && <p className="hint">{words.external}</p>}
          {groupDescription(group) === "" ? (
            <p className="hint">{words.noDescription}</p>
          ) : (
            <p className="admin-intro" dir="auto">
              {groupDescription(group)}
            </p>
          )}
          <GroupActors group={group} canEditMembers={canEditMembers} canEditOwners={canManage} />
          {isEditing && <EditDialog group={group} onClose={() => setEditing(false)} />}
          {isDeleting && (
            <DeleteGroupDialog
              group={{ urn, name: nameOf(group) }}
              onClose={() => setDeleting(false)}
              onDeleted={() => navigate(backAddress)}
            />
          )}
        </>
      )}
    </>
  );
}

/** Renames and describes a group. Only what was changed is written. */
function EditDialog({
  group,
  onClose,
}: {
  readonly group: GroupDetails;
  readonly onClose: () => void;
}) {
  const words = adminTexts.groups;
  // What the edit started with: a refresh meanwhile must not change what is compared.
  const [before] = useState({ name: nameOf(group), description: groupDescription(group) });
  const rename = useApiMutation(RenameDocument);
  const describe = useApiMutation(DescribeGroupDocument);
  const save = async (name: string, description: string) => {
    if (name !== before.name) await rename.mutateAsync({ urn: group.urn, name });
    if (description !== before.description)
      await describe.mutateAsync({ urn: group.urn, description });
    onClose();
  };
  return (
    <Dialog title={words.editTitle(before.name)} isOpen onClose={onClose}>
      <NameForm
        name={before.name}
        description={before.description}
        button={words.save}
        isBusy={rename.isPending || describe.isPending}
        error={rename.error ?? describe.error}
        onSubmit={(name, description) => {
          rename.reset();
          describe.reset();
          // The error is shown from the state of the mutation.
          save(name, description).catch(() => undefined);
        }}
        onClose={onClose}
      />
    </Dialog>
  );
}
