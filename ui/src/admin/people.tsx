import { useState } from "react";
import { Link, useLocation, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { Avatar } from "../components/avatar.tsx";
import { EntityLink } from "../components/common.tsx";
import { Menu } from "../components/menu.tsx";
import { Pagination, pageFromAddress } from "../components/pagination.tsx";
import { EmptyState, LoadingOrError, StaleNotice } from "../components/states.tsx";
import { UndoNotice, useUndo } from "../components/undo.tsx";
import {
  PeopleDocument,
  RolesDocument,
  SetUserStatusDocument,
  type PeopleQuery,
} from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { InviteDialog, ResetDialog } from "../settings/link_dialogs.tsx";
import { adminTexts } from "../admin_texts.ts";
import { accountTexts, userTexts } from "../account_texts.ts";
import { AdminTable, FilterField } from "./common.tsx";
import { RemoveDialog, SignOutDialog, SuspendDialog } from "./people_dialogs.tsx";
import { useRights, type Rights } from "../rights.ts";
import { SECTION_PRIVILEGES } from "./rights.ts";
import { RoleSelect, type Role } from "./role_select.tsx";

type Result = NonNullable<PeopleQuery["searchAcrossEntities"]>["searchResults"][number]["entity"];
export type Person = Extract<Result, { readonly username: string }>;

type Action = "reset" | "suspend" | "remove" | "signOut";

const PAGE_SIZE = 100;
const isPerson = (entity: Result): entity is Person => "username" in entity;
const isSuspended = (person: Person) => person.status === "SUSPENDED";

/** All users of the catalog: their roles, and what can be done with their accounts. */
export default function People() {
  const words = userTexts;
  const rights = useRights();
  const [, navigate] = useLocation();
  const parameters = new URLSearchParams(useSearch());
  const text = parameters.get("query") ?? "";
  const query = text.trim();
  const page = pageFromAddress(parameters, PAGE_SIZE);
  const [isInviting, setInviting] = useState(false);
  const [open, setOpen] = useState<{ readonly action: Action; readonly person: Person } | null>(
    null,
  );
  const { last, report, clear } = useUndo();
  const [done, setDone] = useState<string | null>(null);
  const status = useApiMutation(SetUserStatusDocument);
  const read = useApiQuery(
    PeopleDocument,
    { query: query === "" ? "*" : query, start: (page - 1) * PAGE_SIZE, count: PAGE_SIZE },
    { keepPrevious: true },
  );
  const roles = useApiQuery(RolesDocument, {}, { enabled: rights.has("MANAGE_POLICIES") });
  const found = read.data?.searchAcrossEntities;
  const setStatus = (person: Person, next: "ACTIVE" | "SUSPENDED", before: typeof next) => {
    clear();
    setDone(null);
    status.mutate(
      { urn: person.urn, status: next },
      {
        onSuccess: () => {
          setOpen(null);
          const say = next === "ACTIVE" ? adminTexts.people.resumed : adminTexts.people.suspended;
          report(say(nameOf(person)), () => setStatus(person, before, next));
        },
      },
    );
  };
  const start = (action: Action, person: Person) => {
    status.reset();
    clear();
    setDone(null);
    setOpen({ action, person });
  };
  const close = () => setOpen(null);
  return (
    <>
      <div className="admin-filters">
        <FilterField
          label={words.filter}
          value={text}
          onChange={(typed) =>
            navigate(addresses.users(typed), { replace: true, state: addresses.SAME_PAGE })
          }
        />
        {rights.has(...SECTION_PRIVILEGES.invitations) && (
          <button type="button" className="primary" onClick={() => setInviting(true)}>
            {accountTexts.invite.open}
          </button>
        )}
      </div>
      <p className="hint">{words.intro}</p>
      {read.data === undefined && <LoadingOrError read={read} />}
      <StaleNotice read={read} />
      <UndoNotice
        last={last}
        isBusy={status.isPending}
        error={open === null ? status.error : null}
      />
      <p className="hint" role="status">
        {done}
      </p>
      {found?.total === 0 && (
        <EmptyState title={words.none(query)} hint={words.noneHint}>
          {query !== "" && <Link href={addresses.users("")}>{words.showAll}</Link>}
        </EmptyState>
      )}
      {found !== undefined && found !== null && found.total > 0 && (
        <AdminTable columns={words.columns}>
          {found.searchResults.map(
            ({ entity }) =>
              isPerson(entity) && (
                <PersonRow
                  key={entity.urn}
                  person={entity}
                  rights={rights}
                  roles={roles.data?.listRoles?.roles ?? null}
                  onAction={(action) => start(action, entity)}
                  onResume={() => setStatus(entity, "ACTIVE", "SUSPENDED")}
                  onRole={(say, undo) => {
                    status.reset();
                    setDone(null);
                    report(say, () => {
                      clear();
                      undo();
                    });
                  }}
                />
              ),
          )}
        </AdminTable>
      )}
      {found !== undefined && found !== null && (
        <Pagination
          page={page}
          size={PAGE_SIZE}
          total={found.total}
          addressOf={(number) => addresses.users(text, number)}
        />
      )}
      {isInviting && <InviteDialog onClose={() => setInviting(false)} />}
      {open?.action === "reset" && (
        <ResetDialog user={{ urn: open.person.urn, name: nameOf(open.person) }} onClose={close} />
      )}
      {open?.action === "suspend" && (
        <SuspendDialog
          person={open.person}
          isSelf={open.person.urn === rights.user}
          isBusy={status.isPending}
          error={status.error}
          onConfirm={() => setStatus(open.person, "SUSPENDED", "ACTIVE")}
          onClose={close}
        />
      )}
      {open?.action === "remove" && (
        <RemoveDialog
          person={open.person}
          isSelf={open.person.urn === rights.user}
          onDone={setDone}
          onClose={close}
        />
      )}
      {open?.action === "signOut" && (
        <SignOutDialog person={open.person} onDone={setDone} onClose={close} />
      )}
    </>
  );
}

function PersonRow({
  person,
  rights,
  roles,
  onAction,
  onResume,
  onRole,
}: {
  readonly person: Person;
  readonly rights: Rights;
  /** The roles that can be assigned; `null` if the user may not. */
  readonly roles: readonly Role[] | null;
  readonly onAction: (action: Action) => void;
  readonly onResume: () => void;
  readonly onRole: (text: string, undo: () => void) => void;
}) {
  const words = adminTexts.people;
  const name = nameOf(person);
  const canManage = rights.has("MANAGE_USERS_AND_GROUPS");
  const status = isSuspended(person)
    ? { label: words.resume, onSelect: onResume }
    : { label: words.suspend, onSelect: () => onAction("suspend") };
  return (
    <tr>
      <th scope="row">
        <span className="person">
          <Avatar actor={person} />
          <EntityLink entity={person} />
        </span>
      </th>
      <td>{person.username}</td>
      <td>{person.properties?.email}</td>
      <td data-label={userTexts.columns.role}>
        <RoleSelect
          actor={person}
          current={person.roles?.relationships.map(({ entity }) => entity) ?? []}
          roles={roles}
          isSelf={person.urn === rights.user}
          onChanged={onRole}
        />
      </td>
      <td data-label={userTexts.columns.signIn}>
        {person.isNativeUser === true ? userTexts.canSignIn : userTexts.cannotSignIn}
      </td>
      <td>{isSuspended(person) ? userTexts.suspended : userTexts.active}</td>
      <td className="row-actions">
        {rights.has("MANAGE_USER_CREDENTIALS") && (
          <button
            type="button"
            className="subtle"
            aria-label={accountTexts.resetLink.createLabel(name)}
            onClick={() => onAction("reset")}
          >
            {accountTexts.resetLink.create}
          </button>
        )}
        {canManage && (
          <Menu
            label={words.more(name)}
            trigger="⋯"
            items={[
              status,
              { label: words.signOut, onSelect: () => onAction("signOut") },
              { label: words.remove, isDangerous: true, onSelect: () => onAction("remove") },
            ]}
          />
        )}
      </td>
    </tr>
  );
}
