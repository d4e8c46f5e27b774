import { useState } from "react";

import { useApiMutation, useApiQuery, useMe } from "../api/cache.ts";
import { Avatar } from "../components/avatar.tsx";
import { EntityLink } from "../components/common.tsx";
import { Dialog } from "../components/dialog.tsx";
import { EntityPicker } from "../components/entity_picker.tsx";
import { SectionHeader } from "../components/sections.tsx";
import { LoadingOrError, StaleNotice } from "../components/states.tsx";
import { UndoNotice, useUndo } from "../components/undo.tsx";
import {
  AddGroupMemberDocument,
  GroupMembersDocument,
  RemoveGroupMemberDocument,
} from "../generated/operations.ts";
import { nameOf, type Nameable } from "../names.ts";
import { peopleTexts } from "../people_texts.ts";
import { texts } from "../texts.ts";
import { useGroupPrivileges } from "./group_privileges.ts";

type Person = Nameable & { readonly urn: string };

const PAGE_SIZE = 50;

/** The members of a group, to change for those who may. */
export function GroupMembers({ group }: { readonly group: Person }) {
  const words = peopleTexts.members;
  const [shown, setShown] = useState(PAGE_SIZE);
  const read = useApiQuery(
    GroupMembersDocument,
    { urn: group.urn, count: shown },
    { keepPrevious: true },
  );
  const me = useMe().data?.me?.corpUser;
  const privileges = useGroupPrivileges(group.urn);
  const [isAdding, setAdding] = useState(false);
  const add = useApiMutation(AddGroupMemberDocument);
  const remove = useApiMutation(RemoveGroupMemberDocument);
  const { last, report } = useUndo();
  const found = read.data?.corpGroup;
  const isExternal = found?.origin?.type === "EXTERNAL";
  const canEdit = privileges.canEditMembers && !isExternal;
  const total = found?.members?.total ?? 0;
  const members = (found?.members?.relationships ?? []).flatMap(({ entity }) =>
    entity === null || entity === undefined ? [] : [entity],
  );
  const isMember = members.some((member) => member.urn === me?.urn);
  const change = (person: Person, isRemoved: boolean, onDone: () => void = () => undefined) => {
    add.reset();
    remove.reset();
    (isRemoved ? remove : add).mutate(
      { group: group.urn, user: person.urn },
      {
        onSuccess: () => {
          onDone();
          report((isRemoved ? words.removed : words.added)(nameOf(person)), () =>
            change(person, !isRemoved),
          );
        },
      },
    );
  };
  const isBusy = add.isPending || remove.isPending;
  return (
    <section className="section" aria-labelledby="group-members">
      <SectionHeader title={texts.entity.groupMembers(total)} id="group-members">
        {canEdit && (
          <button
            type="button"
            className="subtle"
            onClick={() => {
              add.reset();
              setAdding(true);
            }}
          >
            {words.add}
          </button>
        )}
        {canEdit && me !== undefined && (isMember || privileges.canManage) && (
          <button
            type="button"
            className="subtle"
            disabled={isBusy}
            onClick={() => change(me, isMember)}
          >
            {isMember ? words.leave : words.join}
          </button>
        )}
      </SectionHeader>
      {read.data === undefined && <LoadingOrError read={read} />}
      <StaleNotice read={read} />
      {isExternal && <p className="hint">{words.external}</p>}
      {read.data !== undefined && total === 0 && <p className="hint">{words.none}</p>}
      <ul className="owner-list">
        {members.map((member) => (
          <li key={member.urn}>
            <Avatar actor={member} />
            <EntityLink entity={member} />
            {canEdit && (
              <button
                type="button"
                className="chip-remove"
                disabled={isBusy}
                aria-label={words.remove(nameOf(member))}
                onClick={() => change(member, true)}
              >
                ✕
              </button>
            )}
          </li>
        ))}
      </ul>
      {total > members.length && (
        <p className="hint" role="status">
          {words.shown(members.length, total)}{" "}
          <button type="button" className="subtle" onClick={() => setShown(shown + PAGE_SIZE)}>
            {words.showMore}
          </button>
        </p>
      )}
      <UndoNotice
        last={last}
        isBusy={isBusy}
        error={isAdding ? null : (add.error ?? remove.error)}
      />
      {isAdding && (
        <Dialog title={words.addTitle(nameOf(group))} isOpen onClose={() => setAdding(false)}>
          <EntityPicker
            types={["CORP_USER"]}
            words={words}
            chosen={new Set(members.map((member) => member.urn))}
            error={add.error}
            onPick={(person) => !isBusy && change(person, false, () => setAdding(false))}
          />
        </Dialog>
      )}
    </section>
  );
}
