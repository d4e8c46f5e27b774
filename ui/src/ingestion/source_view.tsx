import { useState, type ReactNode } from "react";
import { Link, useLocation } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { isNotFound, run } from "../api/client.ts";
import { DeleteDialog } from "../components/delete_dialog.tsx";
import { EmptyState, ErrorMessage, LoadingOrError, StaleNotice } from "../components/states.tsx";
import {
  DeleteIngestionSourceDocument,
  IngestionSourceDocument,
  RunIngestionSourceDocument,
  type IngestionSourceEntryFragment,
} from "../generated/operations.ts";
import { ingestionTexts as words } from "../ingestion_texts.ts";
import { Runs } from "./runs.tsx";
import { SourceForm } from "./source_form.tsx";
import { Schedule } from "./sources.tsx";

const MAX_RUNS = 50;

/** One source: how it is run, and its runs. */
export function SourceView({ urn }: { readonly urn: string }) {
  const [, navigate] = useLocation();
  const read = useApiQuery(IngestionSourceDocument, { urn, start: 0, count: MAX_RUNS });
  const request = useApiMutation(RunIngestionSourceDocument);
  const [open, setOpen] = useState<"edit" | "remove" | null>(null);
  const [done, setDone] = useState<string | null>(null);
  const source = read.data?.ingestionSource;
  const list = addresses.settings("ingestion");
  const isMissing = source === null || (read.isLoadingError && isNotFound(read.error as Error));
  const start = (next: "edit" | "remove") => {
    setDone(null);
    setOpen(next);
  };
  const runs = source?.executions?.executionRequests ?? [];
  return (
    <>
      <p>
        <Link href={list}>← {words.back}</Link>
      </p>
      {isMissing ? (
        <EmptyState title={words.missing} />
      ) : (
        read.data === undefined && <LoadingOrError read={read} />
      )}
      <StaleNotice read={read} />
      {source != null && (
        <>
          <div className="section-header">
            <h3 dir="auto">{source.name}</h3>
            <button
              type="button"
              className="primary"
              aria-label={words.runLabel(source.name)}
              disabled={request.isPending}
              onClick={() => {
                setDone(null);
                request.mutate({ urn }, { onSuccess: () => setDone(words.requested(source.name)) });
              }}
            >
              {words.run}
            </button>
            <button
              type="button"
              aria-label={words.editLabel(source.name)}
              onClick={() => start("edit")}
            >
              {words.edit}
            </button>
            <button
              type="button"
              className="dangerous"
              aria-label={words.removeLabel(source.name)}
              onClick={() => start("remove")}
            >
              {words.remove}
            </button>
          </div>
          <p className="hint" role="status">
            {done}
          </p>
          {request.error !== null && <ErrorMessage error={request.error} />}
          <Facts source={source} />
          <section aria-labelledby="source-runs">
            <div className="section-header">
              <h3 id="source-runs">{words.runs.heading}</h3>
              <button type="button" disabled={read.isFetching} onClick={() => void read.refetch()}>
                {words.runs.refresh}
              </button>
            </div>
            {runs.length === 0 ? (
              <p className="hint">{words.runs.none}</p>
            ) : (
              <Runs source={urn} runs={runs} onDone={setDone} />
            )}
          </section>
          {open === "edit" && (
            <SourceForm
              source={source}
              onClose={() => setOpen(null)}
              onSaved={() => setDone(words.saved(source.name))}
            />
          )}
          {open === "remove" && (
            <DeleteDialog
              name={source.name}
              isReady
              onDelete={() => run(DeleteIngestionSourceDocument, { urn })}
              onDeleted={() => navigate(list)}
              onClose={() => setOpen(null)}
            >
              <p>{words.removeBody}</p>
            </DeleteDialog>
          )}
        </>
      )}
    </>
  );
}

function Facts({ source }: { readonly source: IngestionSourceEntryFragment }) {
  const { config } = source;
  return (
    <dl className="form-facts">
      <Fact name={words.facts.type}>{source.type}</Fact>
      <Fact name={words.facts.schedule}>
        <Schedule source={source} />
      </Fact>
      <Fact name={words.facts.executor}>{config.executorId}</Fact>
      {config.version !== null && <Fact name={words.facts.version}>{config.version}</Fact>}
      {config.debugMode === true && <Fact name={words.facts.debug}>{words.facts.debugOn}</Fact>}
      <Fact name={words.facts.recipe}>
        <span className="hint">{words.facts.recipeHidden}</span>
      </Fact>
    </dl>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
