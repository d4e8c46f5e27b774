import { useState } from "react";

import { resetCache, useApiMutation } from "../api/cache.ts";
import { changePassword } from "../api/client.ts";
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
  const signOut = useApiMutation(SignOutEverywhereDocument);
  const [withTokens, setWithTokens] = useState(false);
  const end = () =>
    signOut.mutate({ revokeTokens: withTokens }, { onSuccess: () => void resetCache() });
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
      {signOut.error !== null && <ErrorMessage error={signOut.error} />}
      <p>
        <button
          type="button"
          className="dangerous"
          disabled={signOut.isPending}
          onClick={() => leave(end)}
        >
          {texts.account.signOut.submit}
        </button>
      </p>
    </section>
  );
}
