import { useId, useState, type FormEvent } from "react";

import { focusOnMount } from "../components/focus.ts";
import { ErrorMessage } from "../components/states.tsx";
import { texts } from "../texts.ts";

export interface LinkInput {
  readonly url: string;
  readonly label: string;
}

interface LinkFormProperties {
  readonly link?: LinkInput;
  /** The other links of the dataset, to reject duplicates. */
  readonly others: readonly LinkInput[];
  /** A warning to show before saving. */
  readonly notice: string | null;
  readonly error: Error | null;
  readonly isBusy: boolean;
  readonly saveLabel: string;
  readonly onSave: (link: LinkInput) => void;
  readonly onCancel: () => void;
}

interface FieldErrors {
  readonly url: string | null;
  readonly label: string | null;
}

/** A form for a URL and its label, validated before it is sent. */
export function LinkForm({
  link,
  others,
  notice,
  error,
  isBusy,
  saveLabel,
  onSave,
  onCancel,
}: LinkFormProperties) {
  const [errors, setErrors] = useState<FieldErrors>({ url: null, label: null });
  const id = useId();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const url = String(form.get("url")).trim();
    const label = String(form.get("label")).trim();
    const invalid = {
      url: urlError(url, others),
      label: label === "" ? texts.links.labelMissing : null,
    };
    setErrors(invalid);
    if (invalid.url === null && invalid.label === null) onSave({ url, label });
    else focusField(event.currentTarget, invalid.url !== null ? "url" : "label");
  };
  return (
    <form
      className="link-form"
      noValidate
      onSubmit={submit}
      onKeyDown={(event) => event.key === "Escape" && onCancel()}
    >
      <label>
        <span className="visually-hidden">{texts.links.url}</span>
        <input
          name="url"
          type="url"
          defaultValue={link?.url}
          placeholder="https://…"
          aria-invalid={errors.url !== null}
          aria-describedby={`${id}-url`}
          ref={focusOnMount}
        />
        <span id={`${id}-url`} className="field-error" role="alert">
          {errors.url}
        </span>
      </label>
      <label>
        <span className="visually-hidden">{texts.links.label}</span>
        <input
          name="label"
          defaultValue={link?.label}
          placeholder={texts.links.label}
          aria-invalid={errors.label !== null}
          aria-describedby={`${id}-label`}
        />
        <span id={`${id}-label`} className="field-error" role="alert">
          {errors.label}
        </span>
      </label>
      <button type="submit" className="primary" disabled={isBusy}>
        {saveLabel}
      </button>
      <button type="button" onClick={onCancel}>
        {texts.links.cancel}
      </button>
      {notice !== null && (
        <p className="hint" role="status">
          {notice}
        </p>
      )}
      {error !== null && <ErrorMessage error={error} />}
    </form>
  );
}

function focusField(form: HTMLFormElement, name: string): void {
  form.querySelector<HTMLInputElement>(`[name="${name}"]`)?.focus();
}

/** The allowed URL schemes; the server has the same list. */
const SCHEMES = ["https:", "http:", "ftp:", "mailto:"];

/** Validates a URL and returns the error message, if any. */
function urlError(text: string, others: readonly LinkInput[]): string | null {
  if (text === "") return texts.links.urlMissing;
  if (/\s/.test(text)) return texts.links.urlSpaces;
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(text)?.[0].toLowerCase();
  // A host with a port also parses as a scheme: `wiki.example:8080/page`.
  if (scheme === undefined || !SCHEMES.includes(scheme)) return texts.links.urlScheme;
  const url = parseUrl(text);
  const isComplete =
    scheme === "mailto:" ? /^[^@]+@[^@]+$/.test(url?.pathname ?? "") : url?.hostname;
  if (url === null || !isComplete) return texts.links.urlIncomplete;
  const duplicate = others.find((other) => parseUrl(other.url)?.href === url.href);
  if (duplicate === undefined) return null;
  return texts.links.urlDuplicate(duplicate.label === "" ? duplicate.url : duplicate.label);
}

function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}
