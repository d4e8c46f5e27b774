import { useId, useState, type FormEvent } from "react";

import { focusAtFirst } from "../components/focus.ts";
import { Problem } from "../components/states.tsx";
import { texts } from "../texts.ts";

/** A link as people write it. */
export interface LinkText {
  readonly url: string;
  readonly label: string;
}

interface LinkFormProperties {
  readonly link?: LinkText;
  /** The other links of the dataset: none may stand there twice. */
  readonly others: readonly LinkText[];
  /** What the person is to know before they save. */
  readonly notice: string | null;
  readonly error: Error | null;
  readonly isBusy: boolean;
  readonly onSave: (link: LinkText) => void;
  readonly onLeave: () => void;
}

interface Problems {
  readonly url: string | null;
  readonly label: string | null;
}

/** Asks for an address and its label, and says at the field what is wrong before anything is sent. */
export function LinkForm({ link, others, notice, error, isBusy, onSave, onLeave }: LinkFormProperties) {
  const [problems, setProblems] = useState<Problems>({ url: null, label: null });
  const id = useId();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const url = String(form.get("url")).trim();
    const label = String(form.get("label")).trim();
    const found = { url: addressProblem(url, others), label: label === "" ? texts.links.labelMissing : null };
    setProblems(found);
    if (found.url === null && found.label === null) onSave({ url, label });
    else focusField(event.currentTarget, found.url !== null ? "url" : "label");
  };
  return (
    <form className="link-form" noValidate onSubmit={submit} onKeyDown={(event) => event.key === "Escape" && onLeave()}>
      <label>
        <span className="hidden">{texts.links.address}</span>
        <input
          name="url"
          type="url"
          defaultValue={link?.url}
          placeholder="https://…"
          aria-invalid={problems.url !== null}
          aria-describedby={`${id}-url`}
          ref={focusAtFirst}
        />
        <span id={`${id}-url`} className="field-problem" role="alert">
          {problems.url}
        </span>
      </label>
      <label>
        <span className="hidden">{texts.links.label}</span>
        <input
          name="label"
          defaultValue={link?.label}
          placeholder={texts.links.label}
          aria-invalid={problems.label !== null}
          aria-describedby={`${id}-label`}
        />
        <span id={`${id}-label`} className="field-problem" role="alert">
          {problems.label}
        </span>
      </label>
      <button type="submit" className="primary" disabled={isBusy}>
        {texts.links.save}
      </button>
      <button type="button" onClick={onLeave}>
        {texts.links.cancel}
      </button>
      {notice !== null && (
        <p className="hint" role="status">
          {notice}
        </p>
      )}
      {error !== null && <Problem error={error} />}
    </form>
  );
}

function focusField(form: HTMLFormElement, name: string): void {
  form.querySelector<HTMLInputElement>(`[name="${name}"]`)?.focus();
}

/** What a link may begin with; the server takes the same. */
const SCHEMES = ["https:", "http:", "ftp:", "mailto:"];

/** What is wrong with an address, if anything. */
function addressProblem(text: string, others: readonly LinkText[]): string | null {
  if (text === "") return texts.links.addressMissing;
  if (/\s/.test(text)) return texts.links.addressSpaces;
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(text)?.[0].toLowerCase();
  // `wiki.example:8080/page` looks like a scheme, too.
  if (scheme === undefined || !SCHEMES.includes(scheme)) return texts.links.addressScheme;
  const address = parsed(text);
  const leadsSomewhere = scheme === "mailto:" ? /^[^@]+@[^@]+$/.test(address?.pathname ?? "") : address?.hostname;
  if (address === null || !leadsSomewhere) return texts.links.addressIncomplete;
  const twin = others.find((other) => parsed(other.url)?.href === address.href);
  return twin === undefined ? null : texts.links.addressTaken(twin.label === "" ? twin.url : twin.label);
}

function parsed(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}
