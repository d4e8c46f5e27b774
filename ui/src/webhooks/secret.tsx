import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { ConfirmDialog, Warning } from "../admin/common.tsx";
import { refreshAll } from "../api/cache.ts";
import { CopyButton } from "../components/common.tsx";
import { Dialog } from "../components/dialog.tsx";
import { webhookTexts } from "../webhook_texts.ts";
import { changeWebhook } from "./settings.ts";

const words = webhookTexts.secret;

/** As Standard Webhooks want it: a prefix, and random bytes in base64. */
const PREFIX = "whsec_";
const SECRET_BYTES = 32;

const randomSecret = () =>
  PREFIX + btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(SECRET_BYTES))));

export interface Created {
  readonly urn: string;
  readonly name: string;
  readonly secret: string;
}

/** Shows the secret of a new webhook, once. */
export function CreatedDialog({
  created,
  onClose,
}: {
  readonly created: Created;
  readonly onClose: () => void;
}) {
  return (
    <Dialog title={words.createdTitle(created.name)} isOpen onClose={onClose}>
      <ShownOnce secret={created.secret} onDone={onClose} />
    </Dialog>
  );
}

/** Replaces the secret of a webhook by a random one, and shows it once. */
export function NewSecretDialog({
  webhook,
  isOwner,
  onClose,
}: {
  readonly webhook: { readonly urn: string; readonly name: string };
  readonly isOwner: boolean;
  readonly onClose: () => void;
}) {
  // Generated once: if the response to a request is lost, the next one stores the same secret.
  const [secret] = useState(randomSecret);
  const replace = useMutation({
    mutationFn: () => changeWebhook(webhook.urn, { secret }),
    onSuccess: refreshAll,
  });
  if (replace.isSuccess)
    return <CreatedDialog created={{ ...webhook, secret }} onClose={onClose} />;
  return (
    <ConfirmDialog
      title={words.replaceTitle(webhook.name)}
      button={words.replaceButton}
      isBusy={replace.isPending}
      error={replace.error}
      onConfirm={() => replace.mutate()}
      onClose={onClose}
    >
      <p>{words.replaceBody}</p>
      {!isOwner && <Warning>{webhookTexts.becomesOwner}</Warning>}
    </ConfirmDialog>
  );
}

function ShownOnce({ secret, onDone }: { readonly secret: string; readonly onDone: () => void }) {
  return (
    <>
      <p className="notice" role="status">
        {words.shownOnce}
      </p>
      <p className="secret">
        <code data-testid="secret">{secret}</code>
        <CopyButton text={secret} label={words.copy} />
      </p>
      <p className="hint">{words.use}</p>
      <div className="dialog-actions">
        <button type="button" className="primary" onClick={onDone}>
          {words.done}
        </button>
      </div>
    </>
  );
}
