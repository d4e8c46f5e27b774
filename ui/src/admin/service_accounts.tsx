import { useState } from "react";
import { Link, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { RelativeTime } from "../components/common.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Pagination, pageFromAddress } from "../components/pagination.tsx";
import { EmptyState, LoadingOrError, StaleNotice } from "../components/states.tsx";
import { UndoNotice, useUndo } from "../components/undo.tsx";
import {
  CreateServiceAccountDocument,
  DeleteServiceAccountDocument,
  RolesDocument,
  ServiceAccountsDocument,
  type ServiceAccountsQuery,
} from "../generated/operations.ts";
import { urnId } from "../names.ts";
import { NewTokenDialog } from "../settings/tokens.tsx";
import { adminTexts } from "../admin_texts.ts";
import { AdminTable, ConfirmDialog } from "./common.tsx";
import { NameForm } from "./name_form.tsx";
import { useRights } from "../rights.ts";
import { RoleSelect } from "./role_select.tsx";

type Account = ServiceAccountsQuery["listServiceAccounts"]["serviceAccounts"][number];

const PAGE_SIZE = 50;
const accountName = (account: Account) => account.displayName ?? account.name;

/** The users that are programs. */
export default function ServiceAccounts() {
  const words = adminTexts.serviceAccounts;
  const rights = useRights();
  const page = pageFromAddress(new URLSearchParams(useSearch()), PAGE_SIZE);
  const [isCreating, setCreating] = useState(false);
  const [tokenFor, setTokenFor] = useState<Account | null>(null);
  const [removing, setRemoving] = useState<Account | null>(null);
  const [done, setDone] = useState<string | null>(null);
  const { last, report, clear } = useUndo();
  const create = useApiMutation(CreateServiceAccountDocument);
  const remove = useApiMutation(DeleteServiceAccountDocument);
  const roles = useApiQuery(RolesDocument, {}, { enabled: rights.has("MANAGE_POLICIES") });
  const read = useApiQuery(
    ServiceAccountsDocument,
    { query: null, start: (page - 1) * PAGE_SIZE, count: PAGE_SIZE },
    { keepPrevious: true },
  );
  const found = read.data?.listServiceAccounts;
  return (
    <>
      <p className="hint admin-intro">{words.intro}</p>
      <div className="admin-filters">
        <button
          type="button"
          className="primary"
          onClick={() => {
            create.reset();
            setCreating(true);
          }}
        >
          {words.create}
        </button>
      </div>
      {found === undefined && <LoadingOrError read={read} />}
      <StaleNotice read={read} />
      <UndoNotice last={last} isBusy={false} error={null} />
      <p className="hint" role="status">
        {done}
      </p>
      {found?.total === 0 && <EmptyState title={words.none} hint={words.noneHint} />}
      {found !== undefined && found.serviceAccounts.length > 0 && (
        <AdminTable columns={words.columns}>
          {found.serviceAccounts.map((account) => (
            <tr key={account.urn}>
              <th scope="row" dir="auto">
                {accountName(account)}
                {account.description !== null && <p className="hint">{account.description}</p>}
              </th>
              <td>
                <code>{urnId(account.urn)}</code>
              </td>
              <td data-label={words.columns.role}>
                <RoleSelect
                  actor={{ urn: account.urn, name: accountName(account) }}
                  current={account.roles?.relationships.map(({ entity }) => entity) ?? []}
                  roles={roles.data?.listRoles?.roles ?? null}
                  onChanged={(say, undo) => {
                    setDone(null);
                    report(say, () => {
                      clear();
                      undo();
                    });
                  }}
                />
              </td>
              <td data-label={words.columns.created}>
                {account.createdAt !== null && <RelativeTime time={account.createdAt} />}
              </td>
              <td className="row-actions">
                <button
                  type="button"
                  aria-label={words.newTokenLabel(accountName(account))}
                  onClick={() => setTokenFor(account)}
                >
                  {words.newToken}
                </button>{" "}
                {rights.has("MANAGE_ACCESS_TOKENS") && (
                  <Link
                    className="button"
                    href={addresses.settingsWith("all-tokens", { user: urnId(account.urn) })}
                    aria-label={words.tokensLabel(accountName(account))}
                  >
                    {words.tokens}
                  </Link>
                )}{" "}
                <button
                  type="button"
                  className="subtle"
                  aria-label={words.removeLabel(accountName(account))}
                  onClick={() => {
                    remove.reset();
                    setDone(null);
                    setRemoving(account);
                  }}
                >
                  {words.remove}
                </button>
              </td>
            </tr>
          ))}
        </AdminTable>
      )}
      {found !== undefined && (
        <Pagination
          page={page}
          size={PAGE_SIZE}
          total={found.total}
          addressOf={(number) => addresses.settingsWith("service-accounts", {}, number)}
        />
      )}
      {isCreating && (
        <Dialog title={words.create} isOpen onClose={() => setCreating(false)}>
          <NameForm
            name=""
            description=""
            button={words.createButton}
            isBusy={create.isPending}
            error={create.error}
            onSubmit={(name, description) =>
              create.mutate(
                { name, description: description === "" ? null : description },
                { onSuccess: () => setCreating(false) },
              )
            }
            onClose={() => setCreating(false)}
          />
        </Dialog>
      )}
      {tokenFor !== null && (
        <NewTokenDialog
          actor={tokenFor.urn}
          others={[]}
          type="SERVICE_ACCOUNT"
          onClose={() => setTokenFor(null)}
        />
      )}
      {removing !== null && (
        <ConfirmDialog
          title={words.removeTitle(accountName(removing))}
          button={words.removeButton}
          isBusy={remove.isPending}
          error={remove.error}
          onConfirm={() =>
            remove.mutate(
              { urn: removing.urn },
              {
                onSuccess: () => {
                  setDone(words.removed(accountName(removing)));
                  setRemoving(null);
                },
              },
            )
          }
          onClose={() => setRemoving(null)}
        >
          <p>{words.removeBody}</p>
        </ConfirmDialog>
      )}
    </>
  );
}
