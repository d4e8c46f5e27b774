import { useState } from "react";
import { Link, useLocation, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { ChangeLine } from "../changes/line.tsx";
import { Filters } from "../changes/filters.tsx";
import { filtersOf, inputOf, type ChangesInput } from "../changes/state.ts";
import { EmptyState, LoadingOrError, StaleNotice, useTitle } from "../components/states.tsx";
import { ChangesDocument } from "../generated/operations.ts";
import { texts } from "../texts.ts";
import { formatDateTime } from "../time.ts";

/** Lists what was changed in the catalog, newest first. */
export default function ChangesPage() {
  useTitle(texts.changes.title);
  const filters = filtersOf(useSearch());
  const [, navigate] = useLocation();
  // Fixed while the page is open, so that periods do not move with every render.
  const [now] = useState(() => Date.now());
  const input = inputOf(filters, now);
  return (
    <div className="changes-page">
      <h1>{texts.changes.title}</h1>
      <p className="hint">{texts.changes.hint}</p>
      <Filters
        filters={filters}
        onChange={(changed) =>
          navigate(addresses.changes({ ...filters, ...changed }), {
            state: addresses.SAME_PAGE,
          })
        }
      />
      {/* Keyed, so that the pages of one filter are not appended to those of another. */}
      <ol className="changes" key={JSON.stringify(input)} aria-label={texts.changes.title}>
        <Page input={input} scroll={null} earlierRuns={new Set()} />
      </ol>
    </div>
  );
}

interface PageProperties {
  readonly input: ChangesInput;
  readonly scroll: string | null;
  /** The ingestion runs of the pages before. */
  readonly earlierRuns: ReadonlySet<string>;
}

/** A page of the list, and the pages behind it that the user has asked for. */
function Page({ input, scroll, earlierRuns }: PageProperties) {
  const [isContinued, setContinued] = useState(false);
  const read = useApiQuery(ChangesDocument, { input: { ...input, scroll } });
  if (read.data === undefined)
    return (
      <li>
        <LoadingOrError read={read} lines={8} />
      </li>
    );
  const { changes, nextScroll, readThrough } = read.data.changes;
  const isEmpty = scroll === null && changes.length === 0;
  const runs = changes.flatMap(({ runId }) => (runId === null || runId === undefined ? [] : runId));
  return (
    <>
      {scroll === null && read.isRefetchError && (
        <li>
          <StaleNotice read={read} />
        </li>
      )}
      {changes.map((change) => (
        <ChangeLine
          key={change.id}
          change={change}
          isContinued={earlierRuns.has(change.runId ?? "")}
        />
      ))}
      {isEmpty && (
        <li>
          <EmptyState
            title={texts.changes.none}
            hint={
              nextScroll === null || nextScroll === undefined
                ? texts.changes.noneHint
                : texts.changes.noneSoFar(formatDateTime(readThrough ?? 0))
            }
          >
            <Link href={addresses.changes()}>{texts.changes.clear}</Link>
          </EmptyState>
        </li>
      )}
      {nextScroll !== null && nextScroll !== undefined && !isContinued && (
        <li className="changes-more">
          {!isEmpty && changes.length === 0 && (
            <p className="hint">{texts.changes.noneSoFar(formatDateTime(readThrough ?? 0))}</p>
          )}
          <button type="button" onClick={() => setContinued(true)}>
            {texts.changes.older}
          </button>
        </li>
      )}
      {nextScroll !== null && nextScroll !== undefined && isContinued && (
        <Page input={input} scroll={nextScroll} earlierRuns={new Set([...earlierRuns, ...runs])} />
      )}
    </>
  );
}
