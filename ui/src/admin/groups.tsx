import { useState } from "react";
import { Link, useLocation, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { Pagination, pageFromAddress } from "../components/pagination.tsx";
import { EmptyState, LoadingOrError, StaleNotice } from "../components/states.tsx";
import { GroupsDocument } from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { adminTexts } from "../admin_texts.ts";
import { CreateGroupDialog } from "../people/group_actions.tsx";
import { GROUP_CREATORS } from "../people/group_privileges.ts";
import { useRights } from "../rights.ts";
import { peopleTexts } from "../people_texts.ts";
import { texts } from "../texts.ts";
import { AdminTable, FilterField } from "./common.tsx";
import { groupDescription } from "./group_description.ts";
import { GroupEditor } from "./group_editor.tsx";

const PAGE_SIZE = 100;

/** All groups, or the one in the address. */
export default function Groups() {
  const words = adminTexts.groups;
  const rights = useRights();
  const [, navigate] = useLocation();
  const parameters = new URLSearchParams(useSearch());
  const selected = parameters.get("group");
  const text = parameters.get("query") ?? "";
  const query = text.trim();
  const page = pageFromAddress(parameters, PAGE_SIZE);
  const [isCreating, setCreating] = useState(false);
  const read = useApiQuery(
    GroupsDocument,
    { query: query === "" ? "*" : query, start: (page - 1) * PAGE_SIZE, count: PAGE_SIZE },
    { enabled: selected === null, keepPrevious: true },
  );
  if (selected !== null)
    return (
      <GroupEditor
        key={selected}
        urn={selected}
        backAddress={addresses.settingsWith("groups", { query: text })}
      />
    );
  const found = read.data?.listGroups;
  return (
    <>
      <p className="hint admin-intro">{words.intro}</p>
      <div className="admin-filters">
        <FilterField
          label={words.find}
          value={text}
          onChange={(typed) =>
            navigate(addresses.settingsWith("groups", { query: typed }), {
              replace: true,
              state: addresses.SAME_PAGE,
            })
          }
        />
        {rights.has(...GROUP_CREATORS) && (
          <button type="button" className="primary" onClick={() => setCreating(true)}>
            {peopleTexts.groups.create}
          </button>
        )}
      </div>
      {read.data === undefined && <LoadingOrError read={read} />}
      <StaleNotice read={read} />
      {found?.total === 0 && (
        <EmptyState title={words.none(query)} hint={words.noneHint}>
          {query !== "" && <Link href={addresses.settings("groups")}>{words.showAll}</Link>}
        </EmptyState>
      )}
      {found !== undefined && found !== null && found.groups.length > 0 && (
        <AdminTable columns={words.columns} hasActions={false}>
          {found.groups.map((group) => (
            <tr key={group.urn}>
              <th scope="row">
                <Link
                  dir="auto"
                  href={addresses.settingsWith("groups", { query: text, group: group.urn })}
                >
                  {nameOf(group)}
                </Link>
              </th>
              <td className="single-line" dir="auto">
                {groupDescription(group)}
              </td>
              <td data-label={words.columns.members}>{texts.number(group.members?.total ?? 0)}</td>
            </tr>
          ))}
        </AdminTable>
      )}
      {found !== undefined && found !== null && (
        <Pagination
          page={page}
          size={PAGE_SIZE}
          total={found.total}
          addressOf={(number) => addresses.settingsWith("groups", { query: text }, number)}
        />
      )}
      {isCreating && (
        <CreateGroupDialog
          onClose={() => setCreating(false)}
          onCreated={(urn) => navigate(addresses.settingsWith("groups", { group: urn }))}
        />
      )}
    </>
  );
}
