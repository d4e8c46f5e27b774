import { useState } from "react";
import { Link, useLocation, useSearch } from "wouter";

import { AdminTable, FilterField } from "../admin/common.tsx";
import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { Pagination, pageFromAddress } from "../components/pagination.tsx";
import { EmptyState, LoadingOrError, StaleNotice } from "../components/states.tsx";
import { formTexts as words } from "../form_texts.ts";
import { FormCountsDocument, ManagedFormsDocument } from "../generated/operations.ts";
import { texts } from "../texts.ts";
import { FormEditor } from "./editor.tsx";
import { countsOf } from "./form.ts";
import { ManagedFormView } from "./managed_form.tsx";

const PAGE_SIZE = 50;

/** The forms, or one of them. */
export default function FormDefinitions() {
  const form = new URLSearchParams(useSearch()).get("form");
  return form === null ? <FormList /> : <ManagedFormView key={form} urn={form} />;
}

function FormList() {
  const page = pageFromAddress(new URLSearchParams(useSearch()), PAGE_SIZE);
  const [, navigate] = useLocation();
  const [query, setQuery] = useState("");
  const [isCreating, setCreating] = useState(false);
  const typed = query.trim();
  const read = useApiQuery(
    ManagedFormsDocument,
    {
      query: typed === "" ? "*" : typed,
      start: typed === "" ? (page - 1) * PAGE_SIZE : 0,
      count: PAGE_SIZE,
    },
    { keepPrevious: true },
  );
  const counts = useApiQuery(FormCountsDocument, {});
  const found = read.data?.searchAcrossEntities;
  const forms = (found?.searchResults ?? []).flatMap(({ entity }) =>
    "info" in entity ? [entity] : [],
  );
  return (
    <>
      <p className="hint admin-intro">{words.intro}</p>
      <div className="admin-filters">
        <FilterField label={words.find} value={query} onChange={setQuery} />
        <button type="button" className="primary" onClick={() => setCreating(true)}>
          {words.create}
        </button>
      </div>
      {read.data === undefined && <LoadingOrError read={read} />}
      <StaleNotice read={read} />
      {found?.total === 0 &&
        (typed === "" ? (
          <EmptyState title={words.none} hint={words.noneHint} />
        ) : (
          <p className="hint">{words.noMatch(typed)}</p>
        ))}
      {forms.length > 0 && (
        <AdminTable columns={words.columns} hasActions={false}>
          {forms.map(({ urn, info }) => {
            const { assigned, complete, verified } = countsOf(counts.data, urn);
            return (
              <tr key={urn}>
                <th scope="row">
                  <Link dir="auto" href={addresses.settingsWith("forms", { form: urn })}>
                    {info.name}
                  </Link>
                  <span className="hint property-definition">{words.types[info.type]}</span>
                </th>
                <td data-label={words.columns.prompts}>{texts.number(info.prompts.length)}</td>
                <td data-label={words.columns.assigned}>
                  {counts.data !== undefined && texts.number(assigned)}
                </td>
                <td data-label={words.columns.complete}>
                  {counts.data !== undefined && (
                    <>
                      {words.share(complete, assigned)}
                      {info.type === "VERIFICATION" && (
                        <span className="hint"> {words.verifiedCount(verified)}</span>
                      )}
                    </>
                  )}
                </td>
              </tr>
            );
          })}
        </AdminTable>
      )}
      {found != null && typed === "" && (
        <Pagination
          page={page}
          size={PAGE_SIZE}
          total={found.total}
          addressOf={(number) => addresses.settingsWith("forms", {}, number)}
        />
      )}
      {isCreating && (
        <FormEditor
          form={null}
          onClose={() => setCreating(false)}
          onSaved={(urn) => navigate(addresses.settingsWith("forms", { form: urn }))}
        />
      )}
    </>
  );
}
