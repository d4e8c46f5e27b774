import { useState } from "react";

import { resetCache } from "../api/cache.ts";
import { changePassword, run } from "../api/client.ts";
import { NEW_PASSWORD, PasswordForm } from "../components/password_form.tsx";
import { ErrorMessage } from "../components/states.tsx";
import { leave } from "../components/unsaved.ts";
import { SignOutEverywhereDocument } from "../generated/operations.ts";
import { accountTexts } from "../account_texts.ts";

const FIELDS = [
  {
    name: "current",
    label: accountTexts.current,
    type: "password",
    autoComplete: "current-password",
  },
  ...NEW_PASSWORD,
] as const;

/** The user's own password and sessions. */
export function Account() {
  const [isChanged, setChanged] = useState(false);
  return (
    <>
      <section aria-labelledby="change-password">
        <h2 id="change-password">{accountTexts.change.title}</h2>
        <p className="hint">{accountTexts.change.hint}</p>
        <PasswordForm
          fields={FIELDS}
          submit={accountTexts.change.submit}
          onSubmit={async ({ current = "", password = "" }) => {
            setChanged(false);
            await changePassword({ currentPassword: current, newPassword: password });
            setChanged(true);
          }}
        />
        <p role="status">{isChanged && accountTexts.change.done}</p>
      </section>
      <SignOutEverywhere />
    </>
  );
}

function SignOutEverywhere() {
  const [withTokens, setWithTokens] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  // Not `useApiMutation`, which would read everything again without a session.
  const end = () => {
    setBusy(true);
    setError(null);
    run(SignOutEverywhereDocument, { revokeTokens: withTokens })
      .then(resetCache)
      .catch(setError)
      .finally(() => setBusy(false));
  };
  return (
    <section aria-labelledby="sign-out-everywhere">
      <h2 id="sign-out-everywhere">{accountTexts.signOut.title}</h2>
      <p className="hint">{accountTexts.signOut.hint}</p>
      <label className="checkbox-label">
        <input
          type="checkbox"
          checked={withTokens}
          onChange={(event) => setWithTokens(event.target.checked)}
        />
        {accountTexts.signOut.tokens}
      </label>
      {error !== null && <ErrorMessage error={error} />}
      <p>
        <button type="button" className="dangerous" disabled={isBusy} onClick={() => leave(end)}>
          {accountTexts.signOut.submit}
        </button>
      </p>
    </section>
  );
}
