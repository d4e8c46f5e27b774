import { useState } from "react";

import { useApiMutation } from "../api/cache.ts";
import { ErrorMessage } from "../components/states.tsx";
import { AssignRoleDocument } from "../generated/operations.ts";
import { nameOf, type Nameable } from "../names.ts";
import { adminTexts } from "../admin_texts.ts";
import { ConfirmDialog, Select } from "./common.tsx";

export interface Role {
  readonly urn: string;
  readonly name: string;
}

interface RoleProperties {
  readonly actor: Nameable & { readonly urn: string };
  /** The other ends of the relationships to roles; only roles have a name. */
  readonly current: readonly (object | null)[];
  /** The roles that can be assigned; `null` if the user may not. */
  readonly roles: readonly Role[] | null;
  readonly isSelf?: boolean;
  readonly onChanged: (text: string, undo: () => void) => void;
}

const isRole = (entity: object | null): entity is Role =>
  entity !== null && "urn" in entity && "name" in entity;

/** The role of a user or group, to change for those who may. */
export function RoleSelect({ actor, current, roles, isSelf, onChanged }: RoleProperties) {
  const words = adminTexts.people;
  const assign = useApiMutation(AssignRoleDocument);
  const [asked, setAsked] = useState<string | null>(null);
  const name = nameOf(actor);
  const assigned = current.filter(isRole);
  const before = assigned[0]?.urn ?? "";
  const nameOfRole = (urn: string) =>
    [...(roles ?? []), ...assigned].find((role) => role.urn === urn)?.name ?? words.defaultRole;
  if (roles === null) return <>{nameOfRole(before)}</>;
  const change = (role: string, previous: string) =>
    assign.mutate(
      { actors: [actor.urn], role: role === "" ? null : role },
      {
        onSuccess: () => {
          setAsked(null);
          onChanged(words.roleSet(name, nameOfRole(role)), () => change(previous, role));
        },
      },
    );
  return (
    <>
      <Select
        label={words.roleOf(name)}
        options={{
          "": words.defaultRole,
          ...Object.fromEntries(roles.map((role) => [role.urn, role.name])),
        }}
        value={before}
        isDisabled={assign.isPending}
        onChange={(role) => (isSelf === true ? setAsked(role) : change(role, before))}
      />
      {assign.error !== null && asked === null && <ErrorMessage error={assign.error} />}
      {asked !== null && (
        <ConfirmDialog
          title={words.ownRoleTitle}
          button={words.ownRoleButton}
          isBusy={assign.isPending}
          error={assign.error}
          onConfirm={() => change(asked, before)}
          onClose={() => setAsked(null)}
        >
          <p>{words.ownRoleBody(nameOfRole(before), nameOfRole(asked))}</p>
        </ConfirmDialog>
      )}
    </>
  );
}
