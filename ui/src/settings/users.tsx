import { useDeferredValue, useState } from "react";

import { useMe, useRead } from "../api/cache.ts";
import { Empty, Problem, Skeleton } from "../components/states.tsx";
import { UsersDocument } from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { texts } from "../texts.ts";

const PAGE_SIZE = 100;

/** Everybody whom the catalog knows, for those who look after them. */
export function Users() {
  const me = useMe();
  const [text, setText] = useState("");
  const query = useDeferredValue(text).trim();
  const maySee = me.data?.me?.platformPrivileges.manageIdentities === true;
  const read = useRead(
    UsersDocument,
    { query: query === "" ? "*" : query, start: 0, count: PAGE_SIZE },
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
          onChange={(event) => setText(event.target.value)}
        />
      </div>
      {read.isPending && <Skeleton />}
      {read.isError && <Problem error={read.error} retry={() => void read.refetch()} />}
      {found?.total === 0 && <Empty title={texts.users.none} />}
      {found !== undefined && found !== null && found.total > 0 && (
        <div className="table-scroll">
          <table className="quiet-table">
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
                    <td>{user.isNativeUser === true ? texts.users.withPassword : texts.users.noSignIn}</td>
                    <td>{user.status === "SUSPENDED" ? texts.users.suspended : texts.users.active}</td>
                  </tr>
                ) : null,
              )}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}
