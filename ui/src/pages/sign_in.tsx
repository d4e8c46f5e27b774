import { useState, type FormEvent } from "react";

import { comeBack, forgetEverything, useMe } from "../api/cache.ts";
import { signIn } from "../api/client.ts";
import { noteSession } from "../api/session.ts";
import { Dialog } from "../components/dialog.tsx";
import { focusAtFirst } from "../components/focus.ts";
import { useTitle } from "../components/states.tsx";
import { leave } from "../components/unsaved.ts";
import { texts } from "../texts.ts";

/** The way in for a stranger. */
export function SignIn() {
  useTitle(texts.signIn.title);
  return (
    <main className="sign-in">
      <h1>{texts.product}</h1>
      <SignInForm onSignedIn={forgetEverything} />
      <p className="hint">{texts.signIn.hint}</p>
    </main>
  );
}

/** The way in for somebody who was here a moment ago. What they were doing stays as it is behind it, so only they come in
 *  here; for everybody else the page begins anew. */
export function SignInAgain() {
  const me = useMe();
  return (
    <Dialog title={texts.signIn.again.title} isOpen onClose={() => noteSession(false)}>
      <p>{texts.signIn.again.body}</p>
      <SignInForm user={me.data?.me?.corpUser.username} onSignedIn={comeBack} />
      <p>
        <button type="button" className="quiet" onClick={() => leave(() => void forgetEverything())}>
          {texts.signIn.again.other}
        </button>
      </p>
    </Dialog>
  );
}

interface FormProperties {
  /** Who comes in; whoever types a name when absent. */
  readonly user?: string | undefined;
  readonly onSignedIn: () => Promise<void>;
}

function SignInForm({ user, onSignedIn }: FormProperties) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setBusy(true);
    setError(null);
    try {
      await signIn(String(form.get("username")), String(form.get("password")));
      await onSignedIn();
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : texts.signIn.unreachable);
      setBusy(false);
    }
  };

  return (
    <form onSubmit={(event) => void submit(event)} className="form">
      <label>
        {texts.signIn.user}
        <input
          name="username"
          autoComplete="username"
          autoCapitalize="none"
          required
          readOnly={user !== undefined}
          defaultValue={user}
          ref={user === undefined ? focusAtFirst : null}
        />
      </label>
      <label>
        {texts.signIn.password}
        <input
          name="password"
          type="password"
          autoComplete="current-password"
          required
          ref={user === undefined ? null : focusAtFirst}
        />
      </label>
      {error !== null && (
        <p className="problem" role="alert">
          {error}
        </p>
      )}
      <button type="submit" className="primary" disabled={isBusy}>
        {isBusy ? texts.signIn.busy : texts.signIn.submit}
      </button>
    </form>
  );
}
