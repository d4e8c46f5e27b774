import { useState } from "react";
import { Link, useLocation, useSearch } from "wouter";

import { AdminTable } from "../admin/common.tsx";
import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { EntityLink, RelativeTime } from "../components/common.tsx";
import { EmptyState, LoadingOrError, StaleNotice } from "../components/states.tsx";
import { WebhooksDocument, type WebhookEntryFragment } from "../generated/operations.ts";
import { webhookTexts as words } from "../webhook_texts.ts";
import { CreatedDialog, type Created } from "./secret.tsx";
import { NO_FILTER } from "./settings.ts";
import { WebhookState } from "./state.tsx";
import { WebhookForm } from "./webhook_form.tsx";
import { WebhookView } from "./webhook_view.tsx";

const addressOf = (urn: string) => addresses.settingsWith("webhooks", { webhook: urn });

/** The webhooks, or one of them. */
export default function Webhooks() {
  const webhook = new URLSearchParams(useSearch()).get("webhook");
  return webhook === null ? <WebhookList /> : <WebhookView key={webhook} urn={webhook} />;
}

function WebhookList() {
  const [, navigate] = useLocation();
  const [isCreating, setCreating] = useState(false);
  const [created, setCreated] = useState<Created | null>(null);
  const read = useApiQuery(WebhooksDocument, {});
  const webhooks = read.data?.listWebhooks;
  return (
    <>
      <p className="hint admin-intro">{words.intro}</p>
      <div className="admin-filters">
        <button type="button" className="primary" onClick={() => setCreating(true)}>
          {words.create}
        </button>
        <button type="button" onClick={() => void read.refetch()}>
          {words.refresh}
        </button>
      </div>
      {webhooks === undefined && <LoadingOrError read={read} />}
      <StaleNotice read={read} />
      {webhooks?.length === 0 && <EmptyState title={words.none} hint={words.noneHint} />}
      {webhooks !== undefined && webhooks.length > 0 && (
        <AdminTable columns={words.columns} hasActions={false}>
          {webhooks.map((webhook) => (
            <WebhookRow key={webhook.urn} webhook={webhook} />
          ))}
        </AdminTable>
      )}
      {isCreating && (
        <WebhookForm
          webhook={null}
          filter={NO_FILTER}
          isOwner
          onClose={() => setCreating(false)}
          onCreated={setCreated}
          onSaved={() => undefined}
        />
      )}
      {created !== null && (
        <CreatedDialog created={created} onClose={() => navigate(addressOf(created.urn))} />
      )}
    </>
  );
}

function WebhookRow({ webhook }: { readonly webhook: WebhookEntryFragment }) {
  const { urn, name, url, owner, delivery } = webhook;
  return (
    <tr>
      <th scope="row">
        <Link dir="auto" href={addressOf(urn)}>
          {name}
        </Link>
        <span className="webhook-detail">{url}</span>
      </th>
      <td data-label={words.columns.state}>
        <WebhookState webhook={webhook} />
      </td>
      <td data-label={words.columns.waiting}>{words.number(delivery.pending)}</td>
      <td data-label={words.columns.deadLetters}>{words.number(delivery.deadLetters)}</td>
      <td data-label={words.columns.lastDelivery}>
        {delivery.acceptedAt === null ? (
          <span className="hint">{words.never}</span>
        ) : (
          <RelativeTime time={delivery.acceptedAt} />
        )}
      </td>
      <td data-label={words.columns.owner}>
        {owner === null ? words.noOwner : <EntityLink entity={owner} />}
      </td>
    </tr>
  );
}
