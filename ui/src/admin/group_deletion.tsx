import { useApiQuery } from "../api/cache.ts";
import { run } from "../api/client.ts";
import { DeleteDialog } from "../components/delete_dialog.tsx";
import { combineReads, LoadingOrError } from "../components/states.tsx";
import {
  BelongingsDocument,
  DeleteGroupDocument,
  PoliciesDocument,
} from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { adminTexts } from "../admin_texts.ts";
import { Impact } from "./common.tsx";
import type { GroupDetails } from "./group_editor.tsx";

interface DeletionProperties {
  readonly group: GroupDetails;
  readonly canSeePolicies: boolean;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}

/** Deletes a group, after it has said what that affects. */
export function DeleteGroupDialog({
  group,
  canSeePolicies,
  onClose,
  onDeleted,
}: DeletionProperties) {
  const words = adminTexts.groups;
  const owned = useApiQuery(BelongingsDocument, { urn: group.urn });
  const policies = useApiQuery(PoliciesDocument, {}, { enabled: canSeePolicies });
  const isKnown = owned.isSuccess && (!canSeePolicies || policies.isSuccess);
  const members = (group.natives?.total ?? 0) + (group.external?.total ?? 0);
  const assets = owned.data?.searchAcrossEntities?.total ?? 0;
  const roles = (group.roles?.relationships ?? []).flatMap(({ entity }) =>
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
      name={nameOf(group)}
      isReady={isKnown}
      onDelete={() => run(DeleteGroupDocument, { urn: group.urn })}
      onClose={onClose}
      onDeleted={onDeleted}
    >
      <p>{words.deleteBody}</p>
      {isKnown ? (
        <Impact sentences={sentences.length === 0 ? [words.deleteNothing] : sentences} />
      ) : (
        <LoadingOrError read={combineReads(owned, policies)} lines={2} />
      )}
    </DeleteDialog>
  );
}
