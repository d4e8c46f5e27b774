// The pages behind invite links and reset links.

import { useEffect, useState } from "react";
import { useLocation, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { resetCache, useApiMutation } from "../api/cache.ts";
import { inviteProblem, resetPassword, signUp } from "../api/client.ts";
import { NEW_PASSWORD, PasswordForm } from "../components/password_form.tsx";
import { ErrorMessage, useTitle } from "../components/states.tsx";
import { AcceptRoleDocument } from "../generated/operations.ts";
import { sentence } from "../text_forms.ts";
import { accountTexts } from "../account_texts.ts";

const SIGN_UP = [
  { name: "fullName", label: accountTexts.name, autoComplete: "name" },
  { name: "email", label: accountTexts.email, type: "email", autoComplete: "username" },
  ...NEW_PASSWORD,
] as const;

const RESET = [
  { name: "user", label: accountTexts.user, autoComplete: "username" },
  ...NEW_PASSWORD,
] as const;

/** The page of an invite link, for people without an account. */
export function SignUp() {
  useTitle(accountTexts.signUp.title);
  const token = useToken("invite_token");
  const enter = useEnter();
  const problem = useInviteProblem(token);
  return (
    <main className="sign-in">
      <h1>{accountTexts.signUp.title}</h1>
      {problem !== null ? (
        <p className="notice" role="alert">
          {problem}
        </p>
      ) : (
        <PasswordForm
          fields={SIGN_UP}
          submit={accountTexts.signUp.submit}
          onSubmit={async ({ fullName = "", email = "", password = "" }) => {
            await signUp({ fullName, email, password, inviteToken: token });
            await enter();
          }}
        />
      )}
    </main>
  );
}

/** The page of a reset link. */
export function ResetPassword() {
  useTitle(accountTexts.reset.title);
  const token = useToken("reset_token");
  const enter = useEnter();
  return (
    <main className="sign-in">
      <h1>{accountTexts.reset.title}</h1>
      {token === "" ? (
        <p className="notice">{accountTexts.reset.noLink}</p>
      ) : (
        <PasswordForm
          fields={RESET}
          submit={accountTexts.reset.submit}
          onSubmit={async ({ user = "", password = "" }) => {
            await resetPassword({ email: user, password, resetToken: token });
            await enter();
          }}
        />
      )}
    </main>
  );
}

/** The page of an invite link, for people who are signed in. */
export function AcceptInvitation() {
  useTitle(accountTexts.signUp.accept);
  const token = useToken("invite_token");
  const accept = useApiMutation(AcceptRoleDocument);
  const [isDone, setDone] = useState(false);
  if (isDone) return <p role="status">{accountTexts.signUp.accepted}</p>;
  return (
    <>
      <h1>{accountTexts.signUp.accept}</h1>
      <p>{accountTexts.signUp.acceptBody}</p>
      {accept.error !== null && <ErrorMessage error={accept.error} />}
      <button
        type="button"
        className="primary"
        disabled={accept.isPending}
        onClick={() => accept.mutate({ token }, { onSuccess: () => setDone(true) })}
      >
        {accountTexts.signUp.accept}
      </button>
    </>
  );
}

/** Why nobody can sign up by this link, so that people know before they fill in the form. */
function useInviteProblem(token: string): string | null {
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let isCurrent = true;
    setProblem(null);
    if (token === "") return;
    inviteProblem(token).then(
      (found) => isCurrent && setProblem(found === null ? null : sentence(found)),
      // Sending the form fails for the same reason, and says why.
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [token]);
  return token === "" ? accountTexts.signUp.noLink : problem;
}

function useToken(name: string): string {
  return new URLSearchParams(useSearch()).get(name) ?? "";
}

/** Continues as the user of the new session. */
function useEnter(): () => Promise<void> {
  const [, navigate] = useLocation();
  return async () => {
    navigate(addresses.home, { replace: true });
    await resetCache();
  };
}
