import { useState } from "react";

import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { EntityLink } from "../components/common.tsx";
import { Dialog } from "../components/dialog.tsx";
import { EntityPicker } from "../components/entity_picker.tsx";
import { combineReads, LoadingOrError, StaleNotice } from "../components/states.tsx";
import { UndoNotice, useUndo } from "../components/undo.tsx";
import {
  AssignRoleDocument,
  PoliciesDocument,
  RolesWithMembersDocument,
  type RolesWithMembersQuery,
} from "../generated/operations.ts";
import { nameOf, type Nameable } from "../names.ts";
import { adminTexts } from "../admin_texts.ts";
import { ConfirmDialog } from "./common.tsx";
import { policyOf } from "./policy.ts";
import { sentenceOf } from "./policy_sentence.ts";
import { useRights } from "../rights.ts";

type Role = NonNullable<RolesWithMembersQuery["listRoles"]>["roles"][number];
type Member = Nameable & { readonly urn: string };

const isGroup = (urn: string) => urn.startsWith("urn:li:corpGroup:");

const membersOf = (role: Role): readonly Member[] =>
  (role.members?.relationships ?? []).flatMap(({ entity }) =>
    entity !== null && "urn" in entity ? [entity as Member] : [],
  );

/** The roles: what each may do, and who has it. */
export default function Roles() {
  const words = adminTexts.roles;
  const { user } = useRights();
  const roles = useApiQuery(RolesWithMembersDocument, {});
  const policies = useApiQuery(PoliciesDocument, {});
  const assign = useApiMutation(AssignRoleDocument);
  const { last, report, clear } = useUndo();
  const [assigning, setAssigning] = useState<Role | null>(null);
  const [leaving, setLeaving] = useState<{ readonly role: Role; readonly member: Member } | null>(
    null,
  );
  const read = combineReads(roles, policies);
  if (roles.data === undefined || policies.data === undefined)
    return <LoadingOrError read={read} lines={8} />;
  const all = roles.data.listRoles?.roles ?? [];
  const sentencesFor = ({ urn }: Role) =>
    (policies.data.listPolicies?.policies ?? [])
      .map(policyOf)
      .filter((policy) => policy.state === "ACTIVE" && policy.roles.some((it) => it.urn === urn))
      .map(sentenceOf);
  const roleOf = (actor: string) =>
    all.find((role) => membersOf(role).some(({ urn }) => urn === actor))?.urn ?? null;
  const set = (member: Member, role: string | null, text: string) => {
    const before = roleOf(member.urn);
    clear();
    assign.mutate(
      { actors: [member.urn], role },
      {
        onSuccess: () => {
          setAssigning(null);
          setLeaving(null);
          report(text, () =>
            assign.mutate({ actors: [member.urn], role: before }, { onSuccess: clear }),
          );
        },
      },
    );
  };
  const remove = (role: Role, member: Member) =>
    set(member, null, words.removed(nameOf(member), role.name));
  return (
    <>
      <p className="hint admin-intro">
        {words.intro} {words.defaultHint}
      </p>
      <StaleNotice read={read} />
      <UndoNotice
        last={last}
        isBusy={assign.isPending}
        error={assigning === null && leaving === null ? assign.error : null}
      />
      <ul className="role-list">
        {all.map((role) => (
          <RoleCard
            key={role.urn}
            role={role}
            sentences={sentencesFor(role)}
            isBusy={assign.isPending}
            onAssign={() => {
              assign.reset();
              setAssigning(role);
            }}
            onRemove={(member) => {
              assign.reset();
              if (member.urn === user) setLeaving({ role, member });
              else remove(role, member);
            }}
          />
        ))}
      </ul>
      {assigning !== null && (
        <Dialog title={words.assignTitle(assigning.name)} isOpen onClose={() => setAssigning(null)}>
          <EntityPicker
            types={["CORP_USER", "CORP_GROUP"]}
            words={words}
            chosen={new Set(membersOf(assigning).map(({ urn }) => urn))}
            hintOf={({ urn }) => (isGroup(urn) ? words.group : undefined)}
            error={assign.error}
            onPick={(actor) =>
              !assign.isPending &&
              set(actor, assigning.urn, words.assigned(nameOf(actor), assigning.name))
            }
          />
        </Dialog>
      )}
      {leaving !== null && (
        <ConfirmDialog
          title={words.removeOwnTitle(leaving.role.name)}
          button={words.removeOwnButton}
          isBusy={assign.isPending}
          error={assign.error}
          onConfirm={() => remove(leaving.role, leaving.member)}
          onClose={() => setLeaving(null)}
        >
          <p>{words.removeOwnBody}</p>
        </ConfirmDialog>
      )}
    </>
  );
}

function RoleCard({
  role,
  sentences,
  isBusy,
  onAssign,
  onRemove,
}: {
  readonly role: Role;
  readonly sentences: readonly string[];
  readonly isBusy: boolean;
  readonly onAssign: () => void;
  readonly onRemove: (member: Member) => void;
}) {
  const words = adminTexts.roles;
  const members = membersOf(role);
  const total = role.members?.total ?? 0;
  return (
    <li className="role-card">
      <div className="section-header">
        <h3>{role.name}</h3>
        <span className="hint">{words.members(total)}</span>
        <button type="button" aria-label={words.assignLabel(role.name)} onClick={onAssign}>
          {words.assign}
        </button>
      </div>
      <p>{role.description}</p>
      {members.length === 0 && <p className="hint">{words.noMembers}</p>}
      <ul className="chips">
        {members.map((member) => (
          <li key={member.urn} className="chip">
            <EntityLink entity={member} />
            {isGroup(member.urn) && <span className="hint">{words.group}</span>}
            <button
              type="button"
              className="chip-remove"
              disabled={isBusy}
              aria-label={words.removeLabel(nameOf(member), role.name)}
              onClick={() => onRemove(member)}
            >
              ✕
            </button>
          </li>
        ))}
        {total > members.length && <li>{words.moreMembers(total - members.length)}</li>}
      </ul>
      <details className="role-rights">
        <summary>{words.may}</summary>
        {sentences.length === 0 && <p className="hint">{words.noPolicies}</p>}
        <ul>
          {sentences.map((sentence) => (
            <li key={sentence} dir="auto">
              {sentence}
            </li>
          ))}
        </ul>
      </details>
    </li>
  );
}
