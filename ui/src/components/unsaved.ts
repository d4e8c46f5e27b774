// Keeps unsaved text from being lost. Components with unsaved text register here, and navigation,
// sign-out and closing the window ask before they discard it.

import { useLayoutEffect, useRef } from "react";

import { confirmDiscard } from "./discard_question.ts";

interface UnsavedSource {
  /** Whether it has unsaved text. */
  readonly hasUnsaved: () => boolean;
  /** The save in progress, if any. */
  readonly saving: () => Promise<unknown> | undefined;
  /** Called when the user has agreed to discard the text. */
  readonly onDiscard: () => void;
  /** Called when the user stays because of the text: takes the focus. */
  readonly onKeep: () => void;
}

/** How long leaving waits for saves in progress before it asks. */
const SAVE_TIMEOUT_MS = 5_000;

const sources = new Set<UnsavedSource>();
let attempts = 0;

const pendingSaves = () => [...sources].flatMap((source) => source.saving() ?? []);
const hasUnsavedChanges = () =>
  pendingSaves().length > 0 ||
  [...sources].some((source) => source.hasUnsaved()) ||
  hasFormChanges(document);

/** Excludes search and sign-in forms, whose content is not worth a question. */
const FORMS = "form:not([role=search]):not(:has([type=password]))";
const TEXT_FIELDS = ":is(textarea, input:is([type=text], [type=email], [type=url], :not([type])))";

/** Whether a form field differs from its initial value. Plain forms need not register. */
export function hasFormChanges(container: ParentNode): boolean {
  const fields = container.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>(
    `${FORMS} ${TEXT_FIELDS}`,
  );
  return [...fields].some((field) => field.value !== field.defaultValue);
}

/** Waits for saves in progress, asks the user about any other unsaved text, and then calls `go` or
 *  `stay`. */
export function leave(go: () => void, stay: () => void = () => undefined): void {
  attempts += 1;
  const attempt = attempts;
  const isSuperseded = () => attempt !== attempts;
  const decide = async () => {
    if (isSuperseded()) return;
    if (!hasUnsavedChanges()) {
      go();
      return;
    }
    const isDiscarded = await confirmDiscard();
    if (isSuperseded()) return;
    if (isDiscarded) {
      for (const source of sources) source.onDiscard();
      go();
      return;
    }
    stay();
    [...sources].find((source) => source.hasUnsaved())?.onKeep();
  };
  const pending = pendingSaves();
  if (pending.length === 0) {
    void decide();
    return;
  }
  const timeout = new Promise((resolve) => setTimeout(resolve, SAVE_TIMEOUT_MS));
  void Promise.race([Promise.allSettled(pending), timeout]).then(decide);
}

window.addEventListener("beforeunload", (event) => {
  if (hasUnsavedChanges()) event.preventDefault();
});

const DEFAULTS = {
  saving: () => undefined,
  onDiscard: () => undefined,
  onKeep: () => undefined,
};

/** Registers a component as a source of unsaved text while it is mounted. */
export function useUnsaved(
  hasUnsaved: () => boolean,
  more: Partial<Omit<UnsavedSource, "hasUnsaved">> = {},
): void {
  const current = useRef<UnsavedSource>({ ...DEFAULTS, hasUnsaved });
  current.current = { ...DEFAULTS, ...more, hasUnsaved };
  // A layout effect, so that an unmounted component is unregistered immediately.
  useLayoutEffect(() => {
    const source: UnsavedSource = {
      hasUnsaved: () => current.current.hasUnsaved(),
      saving: () => current.current.saving(),
      onDiscard: () => current.current.onDiscard(),
      onKeep: () => current.current.onKeep(),
    };
    sources.add(source);
    return () => {
      sources.delete(source);
    };
  }, []);
}
