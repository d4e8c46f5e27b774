import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { useSearch } from "wouter";

import { AdminTable, ConfirmDialog } from "../admin/common.tsx";
import * as addresses from "../addresses.ts";
import { refreshAll, useApiMutation, useApiQuery } from "../api/cache.ts";
import { run } from "../api/client.ts";
import { EntityLink, RelativeTime } from "../components/common.tsx";
import { Dialog } from "../components/dialog.tsx";
import { useFocusFallback } from "../components/focus.ts";
import { Pagination, pageFromAddress } from "../components/pagination.tsx";
import { ErrorMessage, LoadingOrError, StaleNotice } from "../components/states.tsx";
import {
  DiscardDeadLettersDocument,
  ReplayDeadLettersDocument,
  WebhookDeadLettersDocument,
  type WebhookDeadLettersQuery,
} from "../generated/operations.ts";
import { sentence } from "../text_forms.ts";
import { formatDateTime } from "../time.ts";
import { webhookTexts } from "../webhook_texts.ts";
import { useNames } from "./settings.ts";

type DeadLetter = WebhookDeadLettersQuery["webhookDeadLetters"]["deadLetters"][number];

const words = webhookTexts.deadLetters;
/** Each has a body of up to 256 KiB. */
const PAGE_SIZE = 10;

interface Outcome {
  readonly delivered: number;
  readonly failure: string | null;
}

/** Replays dead letters, all without ids. One request replays for a few seconds, so it is repeated
 *  while it makes progress. */
async function replayLetters(urn: string, ids: string[] | null): Promise<Outcome> {
  let delivered = 0;
  for (;;) {
    const { replayWebhookDeadLetters: step } = await run(ReplayDeadLettersDocument, { urn, ids });
    delivered += step.delivered;
    const isOver = step.failure !== null || step.remaining === 0 || step.delivered === 0;
    if (ids !== null || isOver) return { delivered, failure: step.failure };
  }
}

/** The events that the receiver has not accepted, newest first. */
export function DeadLetters({ urn }: { readonly urn: string }) {
  const section = useRef<HTMLElement>(null);
  const page = pageFromAddress(new URLSearchParams(useSearch()), PAGE_SIZE);
  const read = useApiQuery(
    WebhookDeadLettersDocument,
    { urn, start: (page - 1) * PAGE_SIZE, count: PAGE_SIZE },
    { keepPrevious: true },
  );
  const [shown, setShown] = useState<DeadLetter | null>(null);
  const [discarding, setDiscarding] = useState<DeadLetter | "all" | null>(null);
  const [done, setDone] = useState<string | null>(null);
  const replay = useMutation({
    mutationFn: (ids: string[] | null) => replayLetters(urn, ids),
    // Some may be delivered before a request fails.
    onSettled: refreshAll,
  });
  const found = read.data?.webhookDeadLetters;
  const letters = found?.deadLetters ?? [];
  const total = found?.total ?? 0;
  const nameOfUrn = useNames(letters.flatMap(({ entityUrn }) => entityUrn ?? []));
  // The row with the focused button disappears with its event.
  useFocusFallback(section, () => section.current?.querySelector<HTMLElement>("h3"));
  const begin = () => {
    setDone(null);
    replay.reset();
  };
  const start = (ids: string[] | null) => {
    begin();
    replay.mutate(ids, {
      onSuccess: ({ delivered, failure }) => failure === null && setDone(words.replayed(delivered)),
    });
  };
  const discard = (letter: DeadLetter | "all") => {
    begin();
    setDiscarding(letter);
  };
  return (
    <section aria-labelledby="webhook-dead-letters" ref={section}>
      <div className="section-header">
        <h3 id="webhook-dead-letters" tabIndex={-1}>
          {words.heading}
        </h3>
        {total > 1 && (
          <>
            <button type="button" disabled={replay.isPending} onClick={() => start(null)}>
              {words.replayAll}
            </button>
            <button type="button" className="dangerous" onClick={() => discard("all")}>
              {words.discardAll}
            </button>
          </>
        )}
      </div>
      <p className="hint">{found !== undefined && total === 0 ? words.none : words.hint}</p>
      <p className="hint" role="status">
        {done}
      </p>
      <Failure outcome={replay.data} error={replay.error} />
      {found === undefined && <LoadingOrError read={read} lines={2} />}
      <StaleNotice read={read} />
      {letters.length > 0 && (
        <AdminTable columns={words.columns}>
          {letters.map((letter) => (
            <LetterRow
              key={letter.id}
              letter={letter}
              name={letter.entityUrn === null ? null : nameOfUrn(letter.entityUrn)}
              isBusy={replay.isPending}
              onShow={() => setShown(letter)}
              onReplay={() => start([letter.id])}
              onDiscard={() => discard(letter)}
            />
          ))}
        </AdminTable>
      )}
      <Pagination
        page={page}
        size={PAGE_SIZE}
        total={total}
        addressOf={(number) => addresses.settingsWith("webhooks", { webhook: urn }, number)}
      />
      {shown !== null && <LetterDialog letter={shown} onClose={() => setShown(null)} />}
      {discarding !== null && (
        <DiscardDialog
          urn={urn}
          letter={discarding === "all" ? null : discarding}
          total={total}
          onClose={() => setDiscarding(null)}
          onDone={setDone}
        />
      )}
    </section>
  );
}

/** Why a replay has ended early. */
function Failure({
  outcome,
  error,
}: {
  readonly outcome: Outcome | undefined;
  readonly error: Error | null;
}) {
  if (error !== null) return <ErrorMessage error={error} />;
  if (outcome === undefined || outcome.failure === null) return null;
  return <ErrorMessage error={new Error(words.replayFailed(outcome.delivered, outcome.failure))} />;
}

function LetterRow({
  letter,
  name,
  isBusy,
  onShow,
  onReplay,
  onDiscard,
}: {
  readonly letter: DeadLetter;
  /** Of the entity; null if it is hidden. */
  readonly name: string | null;
  readonly isBusy: boolean;
  readonly onShow: () => void;
  readonly onReplay: () => void;
  readonly onDiscard: () => void;
}) {
  const { entityUrn, body, reason, attempts, diedAt } = letter;
  const time = formatDateTime(diedAt);
  // Distinguishes the buttons of an event for screen readers.
  const label = name === null ? time : `${name}, ${time}`;
  return (
    <tr>
      <th scope="row">
        {entityUrn === null || name === null ? (
          <span className="hint">{words.hidden}</span>
        ) : (
          <EntityLink entity={{ urn: entityUrn, name }} />
        )}
        {body !== null && <span className="webhook-detail">{kindOf(body)}</span>}
      </th>
      <td data-label={words.columns.reason}>{sentence(reason)}</td>
      <td data-label={words.columns.attempts}>{webhookTexts.number(attempts)}</td>
      <td data-label={words.columns.died}>
        <RelativeTime time={diedAt} />
      </td>
      <td className="row-actions">
        {body !== null && (
          <button type="button" aria-label={words.showLabel(label)} onClick={onShow}>
            {words.show}
          </button>
        )}{" "}
        <button
          type="button"
          aria-label={words.replayLabel(label)}
          disabled={isBusy}
          onClick={onReplay}
        >
          {words.replay}
        </button>{" "}
        <button
          type="button"
          className="subtle"
          aria-label={words.discardLabel(label)}
          onClick={onDiscard}
        >
          {words.discard}
        </button>
      </td>
    </tr>
  );
}

function parsed(body: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}

/** The aspect that an event is about, in either format, or the name of the event. */
function kindOf(body: string): string {
  const event = parsed(body);
  const kinds = [event?.["aspect"], event?.["aspectName"], event?.["type"], event?.["name"]];
  return kinds.find((kind) => typeof kind === "string") ?? "";
}

function LetterDialog({
  letter,
  onClose,
}: {
  readonly letter: DeadLetter;
  readonly onClose: () => void;
}) {
  const body = letter.body ?? "";
  const event = parsed(body);
  return (
    <Dialog title={words.showTitle} isOpen isWide onClose={onClose}>
      <dl className="facts">
        <div>
          <dt>{words.id}</dt>
          <dd>
            <code>{letter.eventId}</code>
          </dd>
        </div>
        <div>
          <dt>{words.firstFailed}</dt>
          <dd>
            <RelativeTime time={letter.firstFailedAt} />
          </dd>
        </div>
      </dl>
      <pre className="run-report" tabIndex={0}>
        {event === null ? body : JSON.stringify(event, null, 2)}
      </pre>
    </Dialog>
  );
}

function DiscardDialog({
  urn,
  letter,
  total,
  onClose,
  onDone,
}: {
  readonly urn: string;
  /** Null for all. */
  readonly letter: DeadLetter | null;
  readonly total: number;
  readonly onClose: () => void;
  readonly onDone: (text: string) => void;
}) {
  const discard = useApiMutation(DiscardDeadLettersDocument);
  const isAll = letter === null;
  return (
    <ConfirmDialog
      title={isAll ? words.discardAllTitle(total) : words.discardTitle}
      button={words.discardButton}
      isBusy={discard.isPending}
      error={discard.error}
      onConfirm={() =>
        discard.mutate(
          { urn, ids: isAll ? null : [letter.id] },
          {
            onSuccess: ({ discardWebhookDeadLetters: number }) => {
              onDone(words.discarded(number));
              onClose();
            },
          },
        )
      }
      onClose={onClose}
    >
      <p>{isAll ? words.discardAllBody : words.discardBody}</p>
      {!isAll && <p dir="auto">{letter.entityUrn}</p>}
    </ConfirmDialog>
  );
}
