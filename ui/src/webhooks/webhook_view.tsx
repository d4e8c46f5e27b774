import { useMutation } from "@tanstack/react-query";
import { useRef, useState, type ReactNode } from "react";
import { Link, useLocation } from "wouter";

import * as addresses from "../addresses.ts";
import { refreshAll, useApiMutation, useApiQuery } from "../api/cache.ts";
import { isNotFound, run } from "../api/client.ts";
import { EntityLink, RelativeTime } from "../components/common.tsx";
import { DeleteDialog } from "../components/delete_dialog.tsx";
import { useFocusFallback } from "../components/focus.ts";
import { EmptyState, ErrorMessage, LoadingOrError, StaleNotice } from "../components/states.tsx";
import {
  DeleteWebhookDocument,
  TestWebhookDocument,
  WebhookDocument,
  type WebhookEntryFragment,
} from "../generated/operations.ts";
import { useRights } from "../rights.ts";
import { webhookTexts as words } from "../webhook_texts.ts";
import { DeadLetters } from "./dead_letters.tsx";
import { NewSecretDialog } from "./secret.tsx";
import {
  ENTITY_FILTERS,
  FILTERS,
  changeWebhook,
  useFilter,
  type EntityFilter,
  type Filter,
  type FilterName,
} from "./settings.ts";
import { WebhookState } from "./state.tsx";
import { WebhookForm } from "./webhook_form.tsx";

type Action = "edit" | "secret" | "remove";

/** One webhook: its state, its settings and its dead letters. */
export function WebhookView({ urn }: { readonly urn: string }) {
  const read = useApiQuery(WebhookDocument, { urn });
  const webhook = read.data?.webhook;
  const isMissing = read.isLoadingError && isNotFound(read.error as Error);
  return (
    <>
      <p>
        <Link href={addresses.settings("webhooks")}>← {words.back}</Link>
      </p>
      {isMissing ? (
        <EmptyState title={words.missing} />
      ) : (
        webhook === undefined && <LoadingOrError read={read} />
      )}
      <StaleNotice read={read} />
      {webhook !== undefined && <Details webhook={webhook} />}
    </>
  );
}

function Details({ webhook }: { readonly webhook: WebhookEntryFragment }) {
  const { urn, name, isActive } = webhook;
  const isOwner = webhook.owner?.urn === useRights().user;
  const filter = useFilter(webhook);
  const [open, setOpen] = useState<Action | null>(null);
  const [done, setDone] = useState<string | null>(null);
  const test = useApiMutation(TestWebhookDocument);
  const toggle = useMutation({
    mutationFn: (next: boolean) => changeWebhook(urn, { isActive: next }),
    onSuccess: refreshAll,
  });
  const begin = () => {
    setDone(null);
    test.reset();
    toggle.reset();
  };
  const failure = test.data?.testWebhook.failure ?? null;
  const error = test.error ?? toggle.error;
  return (
    <>
      <Header
        webhook={webhook}
        isBusy={test.isPending || toggle.isPending}
        onTest={() => {
          begin();
          test.mutate(
            { urn },
            {
              onSuccess: ({ testWebhook: { accepted, milliseconds } }) =>
                accepted && setDone(words.testAccepted(milliseconds)),
            },
          );
        }}
        onToggle={() => {
          begin();
          const said = isActive ? words.paused(name) : words.resumed(name);
          const text = isOwner ? said : `${said} ${words.isOwner}`;
          toggle.mutate(!isActive, { onSuccess: () => setDone(text) });
        }}
        onOpen={(action) => {
          begin();
          setOpen(action);
        }}
      />
      <p className="hint" role="status">
        {done}
      </p>
      {failure !== null && <ErrorMessage error={new Error(words.testFailed(failure))} />}
      {error !== null && <ErrorMessage error={error} />}
      <Facts webhook={webhook} />
      <Filters filter={filter} />
      <DeadLetters urn={urn} />
      {open !== null && (
        <Dialogs
          action={open}
          webhook={webhook}
          filter={filter}
          isOwner={isOwner}
          onClose={() => setOpen(null)}
          onDone={setDone}
        />
      )}
    </>
  );
}

function Header({
  webhook: { name, isActive },
  isBusy,
  onTest,
  onToggle,
  onOpen,
}: {
  readonly webhook: WebhookEntryFragment;
  readonly isBusy: boolean;
  readonly onTest: () => void;
  readonly onToggle: () => void;
  readonly onOpen: (action: Action) => void;
}) {
  const root = useRef<HTMLDivElement>(null);
  // Buttons are disabled during a request, and lose the focus then.
  useFocusFallback(root, () => root.current?.querySelector("button"));
  return (
    <div className="section-header" ref={root}>
      <h3 dir="auto">{name}</h3>
      <button type="button" className="primary" disabled={isBusy} onClick={onTest}>
        {words.test}
      </button>
      <button
        type="button"
        aria-label={isActive ? words.pauseLabel(name) : words.resumeLabel(name)}
        disabled={isBusy}
        onClick={onToggle}
      >
        {isActive ? words.pause : words.resume}
      </button>
      <button type="button" aria-label={words.editLabel(name)} onClick={() => onOpen("edit")}>
        {words.edit}
      </button>
      <button
        type="button"
        aria-label={words.secret.replaceLabel(name)}
        onClick={() => onOpen("secret")}
      >
        {words.secret.replace}
      </button>
      <button
        type="button"
        className="dangerous"
        aria-label={words.removeLabel(name)}
        onClick={() => onOpen("remove")}
      >
        {words.remove}
      </button>
      <button type="button" onClick={() => void refreshAll()}>
        {words.refresh}
      </button>
    </div>
  );
}

function Dialogs({
  action,
  webhook,
  filter,
  isOwner,
  onClose,
  onDone,
}: {
  readonly action: Action;
  readonly webhook: WebhookEntryFragment;
  readonly filter: Filter;
  readonly isOwner: boolean;
  readonly onClose: () => void;
  readonly onDone: (text: string) => void;
}) {
  const [, navigate] = useLocation();
  const { urn, name, delivery } = webhook;
  if (action === "secret")
    return <NewSecretDialog webhook={{ urn, name }} isOwner={isOwner} onClose={onClose} />;
  if (action === "remove")
    return (
      <DeleteDialog
        name={name}
        isReady
        onDelete={() => run(DeleteWebhookDocument, { urn })}
        onDeleted={() => navigate(addresses.settings("webhooks"))}
        onClose={onClose}
      >
        <p>{words.removeBody(delivery.deadLetters)}</p>
      </DeleteDialog>
    );
  return (
    <WebhookForm
      webhook={webhook}
      filter={filter}
      isOwner={isOwner}
      onClose={onClose}
      onCreated={() => undefined}
      onSaved={(saved) => onDone(words.saved(saved))}
    />
  );
}

function Facts({ webhook }: { readonly webhook: WebhookEntryFragment }) {
  const { url, topic, format, owner, createdAt, delivery } = webhook;
  const { acceptedAt, failedAt } = delivery;
  return (
    <dl className="facts webhook-facts">
      <Fact name={words.facts.state}>
        <WebhookState webhook={webhook} />
      </Fact>
      <Fact name={words.facts.url}>{url}</Fact>
      <Fact name={words.facts.waiting}>
        {words.waiting(delivery.pending)}
        {delivery.behind > 0 && (
          <span className="webhook-detail">{words.behind(delivery.behind)}</span>
        )}
      </Fact>
      <Fact name={words.facts.accepted}>
        {acceptedAt === null ? words.never : <RelativeTime time={acceptedAt} />}
      </Fact>
      {failedAt !== null && (
        <Fact name={words.facts.failed}>
          <RelativeTime time={failedAt} />
        </Fact>
      )}
      <Fact name={words.facts.topic}>{words.topics[topic]}</Fact>
      <Fact name={words.facts.format}>{words.formats[format]}</Fact>
      <Fact name={words.facts.owner}>
        {owner === null ? words.noOwner : <EntityLink entity={owner} />}
      </Fact>
      <Fact name={words.facts.created}>
        <RelativeTime time={createdAt} />
      </Fact>
    </dl>
  );
}

const isEntityFilter = (name: FilterName): name is EntityFilter =>
  (ENTITY_FILTERS as readonly string[]).includes(name);

function Filters({ filter }: { readonly filter: Filter }) {
  const used = FILTERS.filter((name) => filter[name].length > 0);
  return (
    <section aria-labelledby="webhook-filters">
      <h3 id="webhook-filters">{words.filters.heading}</h3>
      {used.length === 0 ? (
        <p className="hint">{words.filters.none}</p>
      ) : (
        <dl className="facts">
          {used.map((name) => (
            <Fact key={name} name={words.filters.names[name]}>
              <ul className="chips">
                {filter[name].map((value) => (
                  <li key={value.urn} className="chip">
                    {isEntityFilter(name) ? <EntityLink entity={value} /> : value.name}
                  </li>
                ))}
              </ul>
            </Fact>
          ))}
        </dl>
      )}
    </section>
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
