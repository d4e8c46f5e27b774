import { useEffect, useState, type FormEvent } from "react";

import { resetCache, resumeSession, useMe } from "../api/cache.ts";
import { identityProviders, signIn, type IdentityProvider } from "../api/client.ts";
import { setSessionExpired } from "../api/session.ts";
import { Dialog } from "../components/dialog.tsx";
import { focusOnMount } from "../components/focus.ts";
import { useTitle } from "../components/states.tsx";
import { leave } from "../components/unsaved.ts";
import { FieldProblem, useValidation } from "../components/validation.tsx";
import { Mark } from "../icons/mark.tsx";
import { texts } from "../texts.ts";

/** The sign-in page. */
export function SignIn() {
  useTitle(texts.signIn.title);
  return (
    <main className="sign-in">
      <h1 className="brand">
        <Mark />
        {texts.product}
      </h1>
      <ProviderLinks />
      <SignInForm onSignedIn={resetCache} />
      <p className="hint">{texts.signIn.hint}</p>
    </main>
  );
}

/** Links to the identity providers, and why the last attempt with one of them failed. */
function ProviderLinks() {
  const [providers, setProviders] = useState<readonly IdentityProvider[]>([]);
  useEffect(() => {
    // Without the list, the form still works.
    identityProviders().then(setProviders, () => {});
  }, []);
  const { pathname, search } = window.location;
  const isLogin = pathname === "/login";
  const failure = isLogin ? new URLSearchParams(search).get("sso") : null;
  const target = encodeURIComponent(isLogin ? "/" : pathname + search);
  return (
    <>
      {failure !== null && (
        <p className="error-message" role="alert">
          {texts.signIn.sso.failures[failure] ?? texts.signIn.sso.failures["provider"]}
        </p>
      )}
      {providers.map(({ id, name }) => (
        <a key={id} className="provider-link" href={`/sso/${id}?redirect=${target}`}>
          {texts.signIn.sso.button(name)}
        </a>
      ))}
      {providers.length > 0 && <p className="hint">{texts.signIn.sso.or}</p>}
    </>
  );
}

/** Lets the same user sign in again after their session has expired, keeping the page behind the
 *  dialog. Another user starts with a fresh page. */
export function SessionExpiredDialog() {
  const me = useMe();
  return (
    <Dialog title={texts.signIn.expired.title} isOpen onClose={() => setSessionExpired(false)}>
      <p>{texts.signIn.expired.body}</p>
      <SignInForm user={me.data?.me?.corpUser.username} onSignedIn={resumeSession} />
      <p>
        <button type="button" className="subtle" onClick={() => leave(() => void resetCache())}>
          {texts.signIn.expired.switchUser}
        </button>
      </p>
    </Dialog>
  );
}

interface FormProperties {
  /** The fixed username, if only this user may sign in. */
  readonly user?: string | undefined;
  readonly onSignedIn: () => Promise<void>;
}

function SignInForm({ user, onSignedIn }: FormProperties) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const { check, problemOf, attributesOf } = useValidation();

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (!check(event.currentTarget)) return;
    const form = new FormData(event.currentTarget);
    setBusy(true);
    setError(null);
    try {
      await signIn(String(form.get("username")), String(form.get("password")));
      await onSignedIn();
    } catch (caught) {
      setError(caught instanceof Error ? caught.message : texts.signIn.unreachable);
      setBusy(false);
    }
  };

  return (
    <form onSubmit={(event) => void submit(event)} className="form" noValidate>
      <label>
        {texts.signIn.user}
        <input
          name="username"
          autoComplete="username"
          autoCapitalize="none"
          required
          {...attributesOf("username")}
          readOnly={user !== undefined}
          defaultValue={user}
          ref={user === undefined ? focusOnMount : null}
        />
      </label>
      <FieldProblem name="username" text={problemOf("username")} />
      <label>
        {texts.signIn.password}
        <input
          name="password"
          type="password"
          autoComplete="current-password"
          required
          {...attributesOf("password")}
          ref={user === undefined ? null : focusOnMount}
        />
      </label>
      <FieldProblem name="password" text={problemOf("password")} />
      {error !== null && (
        <p className="error-message" role="alert">
          {error}
        </p>
      )}
      <button type="submit" className="primary" disabled={isBusy}>
        {isBusy ? texts.signIn.busy : texts.signIn.submit}
      </button>
    </form>
  );
}
