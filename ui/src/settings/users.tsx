import { Link, useLocation, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useMe, useRead } from "../api/cache.ts";
import { Pages, pageOf } from "../components/pages.tsx";
import { Awaited, Empty, Outdated } from "../components/states.tsx";
import { UsersDocument } from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { texts } from "../texts.ts";

const PAGE_SIZE = 100;

/** Everybody whom the catalog knows, for those who look after them. */
export function Users() {
  const me = useMe();
  const [, navigate] = useLocation();
  const parameters = new URLSearchParams(useSearch());
  const text = parameters.get("query") ?? "";
  const query = text.trim();
  const page = pageOf(parameters, PAGE_SIZE);
  const maySee = me.data?.me?.platformPrivileges.manageIdentities === true;
  const read = useRead(
    UsersDocument,
    { query: query === "" ? "*" : query, start: (page - 1) * PAGE_SIZE, count: PAGE_SIZE },
    { enabled: maySee, keep: true },
  );
  if (!maySee) return <p className="notice">{texts.users.notAllowed}</p>;
  const found = read.data?.searchAcrossEntities;
  return (
    <>
      <div className="section-head">
        <p className="hint">{texts.users.intro}</p>
        <input
          type="search"
          className="column-filter"
          aria-label={texts.users.filter}
          placeholder={texts.users.filter}
          value={text}
          onChange={(event) =>
            navigate(addresses.people(event.target.value), { replace: true, state: addresses.STAYS })
          }
        />
      </div>
      {read.data === undefined && <Awaited read={read} />}
      <Outdated read={read} />
      {found?.total === 0 && (
        <Empty title={texts.users.none(query)} hint={texts.users.noneHint}>
          {query !== "" && <Link href={addresses.people("")}>{texts.users.showAll}</Link>}
        </Empty>
      )}
      {found !== undefined && found !== null && found.total > 0 && (
        <div className="table-scroll">
          <table className="quiet-table stacked">
            <thead>
              <tr>
                {Object.values(texts.users.columns).map((label) => (
                  <th key={label} scope="col">
                    {label}
                  </th>
                ))}
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
                      {user.isNativeUser === true ? texts.users.withPassword : texts.users.noSignIn}
                    </td>
                    <td>{user.status === "SUSPENDED" ? texts.users.suspended : texts.users.active}</td>
                  </tr>
                ) : null,
              )}
            </tbody>
          </table>
        </div>
      )}
      {found !== undefined && found !== null && (
        <Pages
          page={page}
          size={PAGE_SIZE}
          total={found.total}
          addressOf={(number) => addresses.people(text, number)}
        />
      )}
    </>
  );
}
