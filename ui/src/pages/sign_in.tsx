import { useState, type FormEvent } from "react";

import { forgetEverything } from "../api/cache.ts";
import { signIn } from "../api/client.ts";
import { focusAtFirst } from "../components/focus.ts";
import { useTitle } from "../components/states.tsx";
import { texts } from "../texts.ts";

export function SignIn() {
  useTitle(texts.signIn.title);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setBusy(true);
    setError(null);
    try {
      await signIn(String(form.get("username")), String(form.get("password")));
      await forgetEverything();
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : texts.signIn.unreachable);
      setBusy(false);
    }
  };

  return (
    <main className="sign-in">
      <h1>{texts.product}</h1>
      <form onSubmit={(event) => void submit(event)} className="form">
        <label>
          {texts.signIn.user}
          <input name="username" autoComplete="username" autoCapitalize="none" required ref={focusAtFirst} />
        </label>
        <label>
          {texts.signIn.password}
          <input name="password" type="password" autoComplete="current-password" required />
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
      <p className="hint">{texts.signIn.hint}</p>
    </main>
  );
}
