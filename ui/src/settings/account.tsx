import { useState } from "react";

import { resetCache } from "../api/cache.ts";
import { changePassword, run } from "../api/client.ts";
import { NEW_PASSWORD, PasswordForm } from "../components/password_form.tsx";
import { ErrorMessage } from "../components/states.tsx";
import { leave } from "../components/unsaved.ts";
import { SignOutEverywhereDocument } from "../generated/operations.ts";
import { texts } from "../texts.ts";

const FIELDS = [
  {
    name: "current",
    label: texts.account.current,
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
        <h2 id="change-password">{texts.account.change.title}</h2>
        <p className="hint">{texts.account.change.hint}</p>
        <PasswordForm
          fields={FIELDS}
          submit={texts.account.change.submit}
          onSubmit={async ({ current = "", password = "" }) => {
            setChanged(false);
            await changePassword({ currentPassword: current, newPassword: password });
            setChanged(true);
          }}
        />
        <p role="status">{isChanged && texts.account.change.done}</p>
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
      <h2 id="sign-out-everywhere">{texts.account.signOut.title}</h2>
      <p className="hint">{texts.account.signOut.hint}</p>
      <label className="checkbox-label">
        <input
          type="checkbox"
          checked={withTokens}
          onChange={(event) => setWithTokens(event.target.checked)}
        />
        {texts.account.signOut.tokens}
      </label>
      {error !== null && <ErrorMessage error={error} />}
      <p>
        <button type="button" className="dangerous" disabled={isBusy} onClick={() => leave(end)}>
          {texts.account.signOut.submit}
        </button>
      </p>
    </section>
  );
}
