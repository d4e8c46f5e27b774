import { useState } from "react";
import { Link, useLocation, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useMe, useApiQuery } from "../api/cache.ts";
import { Pagination, pageFromAddress } from "../components/pagination.tsx";
import { LoadingOrError, EmptyState, StaleNotice } from "../components/states.tsx";
import { UsersDocument } from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { texts } from "../texts.ts";
import { InviteDialog, ResetDialog } from "./link_dialogs.tsx";

const PAGE_SIZE = 100;

/** Lists every user of the catalog, for administrators. */
export function Users() {
  const me = useMe();
  const [, navigate] = useLocation();
  const parameters = new URLSearchParams(useSearch());
  const text = parameters.get("query") ?? "";
  const query = text.trim();
  const page = pageFromAddress(parameters, PAGE_SIZE);
  const [isInviting, setInviting] = useState(false);
  const [resetting, setResetting] = useState<{ urn: string; name: string } | null>(null);
  const canInvite = me.data?.me?.platformPrivileges.managePolicies === true;
  const canReset = me.data?.me?.platformPrivileges.manageUserCredentials === true;
  const canSee = me.data?.me?.platformPrivileges.manageIdentities === true;
  const read = useApiQuery(
    UsersDocument,
    { query: query === "" ? "*" : query, start: (page - 1) * PAGE_SIZE, count: PAGE_SIZE },
    { enabled: canSee, keepPrevious: true },
  );
  if (!canSee) return <p className="notice">{texts.users.notAllowed}</p>;
  const found = read.data?.searchAcrossEntities;
  return (
    <>
      <div className="section-header">
        <p className="hint">{texts.users.intro}</p>
        {canInvite && (
          <button type="button" onClick={() => setInviting(true)}>
            {texts.account.invite.open}
          </button>
        )}
        <input
          type="search"
          className="column-filter"
          aria-label={texts.users.filter}
          placeholder={texts.users.filter}
          value={text}
          onChange={(event) =>
            navigate(addresses.users(event.target.value), {
              replace: true,
              state: addresses.SAME_PAGE,
            })
          }
        />
      </div>
      {read.data === undefined && <LoadingOrError read={read} />}
      <StaleNotice read={read} />
      {found?.total === 0 && (
        <EmptyState title={texts.users.none(query)} hint={texts.users.noneHint}>
          {query !== "" && <Link href={addresses.users("")}>{texts.users.showAll}</Link>}
        </EmptyState>
      )}
      {found !== undefined && found !== null && found.total > 0 && (
        <div className="table-scroll">
          <table className="data-table stacked">
            <thead>
              <tr>
                {Object.values(texts.users.columns).map((label) => (
                  <th key={label} scope="col">
                    {label}
                  </th>
                ))}
                {canReset && <td />}
              </tr>
            </thead>
            <tbody>
              {found.searchResults.map(({ entity: user }) =>
                "username" in user ? (
                  <tr key={user.urn}>
                    <th scope="row">{nameOf(user)}</th>
                    <td>{user.username}</td>
                    <td>{user.properties?.email}</td>
                    <td data-label={texts.users.columns.signIn}>
                      {user.isNativeUser === true
                        ? texts.users.canSignIn
                        : texts.users.cannotSignIn}
                    </td>
                    <td>
                      {user.status === "SUSPENDED" ? texts.users.suspended : texts.users.active}
                    </td>
                    {canReset && (
                      <td className="row-actions">
                        <button
                          type="button"
                          className="subtle"
                          aria-label={texts.account.resetLink.createLabel(nameOf(user))}
                          onClick={() => setResetting({ urn: user.urn, name: nameOf(user) })}
                        >
                          {texts.account.resetLink.create}
                        </button>
                      </td>
                    )}
                  </tr>
                ) : null,
              )}
            </tbody>
          </table>
        </div>
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
      {resetting !== null && <ResetDialog user={resetting} onClose={() => setResetting(null)} />}
    </>
  );
}
