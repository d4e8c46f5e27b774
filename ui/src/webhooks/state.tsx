import { RelativeTime } from "../components/common.tsx";
import { FormattedText } from "../components/formatted_text.tsx";
import type { WebhookEntryFragment } from "../generated/operations.ts";
import { sentence } from "../text_forms.ts";
import { webhookTexts as words } from "../webhook_texts.ts";

type State = keyof typeof words.states;

const MINUTE_MS = 60_000;
const SEVERITIES: Readonly<Record<State, string>> = {
  active: "good",
  paused: "none",
  failing: "bad",
  stopped: "bad",
};

function stateOf({ isActive, delivery }: WebhookEntryFragment): State {
  if (!isActive) return "paused";
  if (delivery.stopped !== null) return "stopped";
  return delivery.failures > 0 ? "failing" : "active";
}

/** The state of a webhook as a word, why it delivers nothing, and when it tries again. */
export function WebhookState({ webhook }: { readonly webhook: WebhookEntryFragment }) {
  const { delivery } = webhook;
  const state = stateOf(webhook);
  const reason =
    state === "stopped" ? delivery.stopped : state === "failing" ? delivery.failure : null;
  return (
    <>
      <span className="run-status" data-state={SEVERITIES[state]}>
        {words.states[state]}
      </span>
      {reason !== null && <span className="webhook-detail">{sentence(reason)}</span>}
      {state === "failing" && delivery.retryAt !== null && (
        <span className="webhook-detail">
          <NextAttempt time={delivery.retryAt} />
        </span>
      )}
    </>
  );
}

/** A webhook that has failed several times in a row waits as a whole, so a time that has passed says
 *  only that the attempt is due. */
function NextAttempt({ time }: { readonly time: number }) {
  if (time - Date.now() < MINUTE_MS) return words.nextAttemptSoon;
  return <FormattedText text={words.nextAttempt} values={{ when: <RelativeTime time={time} /> }} />;
}
