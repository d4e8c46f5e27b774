import { useState } from "react";
import { Link, useLocation, useSearch } from "wouter";

import { AdminTable, FilterField } from "../admin/common.tsx";
import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { FormattedText } from "../components/formatted_text.tsx";
import { Pagination, pageFromAddress } from "../components/pagination.tsx";
import { EmptyState, LoadingOrError, StaleNotice } from "../components/states.tsx";
import {
  IngestionSourcesDocument,
  type IngestionSourceEntryFragment,
} from "../generated/operations.ts";
import { ingestionTexts as words } from "../ingestion_texts.ts";
import { RunStatus } from "./runs.tsx";
import { SourceForm } from "./source_form.tsx";
import { SourceView } from "./source_view.tsx";

const PAGE_SIZE = 50;

/** The ingestion sources, or one of them. */
export default function Ingestion() {
  const source = new URLSearchParams(useSearch()).get("source");
  return (
    <>
      <p className="hint admin-intro">
        <FormattedText text={words.intro} values={{ command: <code>{words.command}</code> }} />
      </p>
      {source === null ? <SourceList /> : <SourceView key={source} urn={source} />}
    </>
  );
}

function SourceList() {
  const page = pageFromAddress(new URLSearchParams(useSearch()), PAGE_SIZE);
  const [, navigate] = useLocation();
  const [query, setQuery] = useState("");
  const [isCreating, setCreating] = useState(false);
  const typed = query.trim();
  const read = useApiQuery(
    IngestionSourcesDocument,
    {
      query: typed === "" ? null : typed,
      start: typed === "" ? (page - 1) * PAGE_SIZE : 0,
      count: PAGE_SIZE,
    },
    { keepPrevious: true },
  );
  const found = read.data?.listIngestionSources;
  return (
    <>
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
      {found != null && found.ingestionSources.length > 0 && (
        <AdminTable columns={words.columns} hasActions={false}>
          {found.ingestionSources.map((source) => {
            const last = source.executions?.executionRequests[0];
            return (
              <tr key={source.urn}>
                <th scope="row">
                  <Link
                    dir="auto"
                    href={addresses.settingsWith("ingestion", { source: source.urn })}
                  >
                    {source.name}
                  </Link>
                </th>
                <td data-label={words.columns.type}>{source.type}</td>
                <td data-label={words.columns.schedule}>
                  <Schedule source={source} />
                </td>
                <td data-label={words.columns.lastRun}>
                  {last === undefined ? (
                    <span className="hint">{words.neverRun}</span>
                  ) : (
                    <RunStatus run={last} hasTime />
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
          addressOf={(number) => addresses.settingsWith("ingestion", {}, number)}
        />
      )}
      {isCreating && (
        <SourceForm
          source={null}
          onClose={() => setCreating(false)}
          onSaved={(urn) => navigate(addresses.settingsWith("ingestion", { source: urn }))}
        />
      )}
    </>
  );
}

/** When a source is to run. */
export function Schedule({
  source: { schedule },
}: {
  readonly source: IngestionSourceEntryFragment;
}) {
  if (schedule === null) return <span className="hint">{words.noSchedule}</span>;
  return (
    <>
      <code>{schedule.interval}</code> <span className="hint">{schedule.timezone}</span>
    </>
  );
}
