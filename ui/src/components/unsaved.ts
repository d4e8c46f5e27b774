// Text that is typed and not saved must not be lost by a click or a key. Whoever holds such text registers here, and the
// router, the window and the way out ask before they go on.

import { useLayoutEffect, useRef } from "react";

import { texts } from "../texts.ts";

interface Holder {
  /** Whether there is text that would be lost. */
  readonly hasUnsaved: () => boolean;
  /** What is being saved at this moment, if anything is. */
  readonly saving: () => Promise<unknown> | undefined;
  /** Called when the person has agreed to lose the text. */
  readonly onDiscard: () => void;
}

/** Whoever leaves waits so long for what is being saved, and is asked then. */
const PATIENCE_MS = 5_000;

const holders = new Set<Holder>();
let attempts = 0;

const savings = () => [...holders].flatMap((holder) => holder.saving() ?? []);
const isHeld = () => savings().length > 0 || [...holders].some((holder) => holder.hasUnsaved()) || hasTyped(document);

/** What one signs in or searches with is typed again in a moment, or is in the address. */
const FORMS = "form:not([role=search]):not(:has([type=password]))";
const TEXT_FIELDS = ":is(textarea, input:is([type=text], [type=email], [type=url], :not([type])))";

/** Whether a form in a part of the page has text that was not there when it opened. Forms need not register for that. */
export function hasTyped(part: ParentNode): boolean {
  const fields = part.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>(`${FORMS} ${TEXT_FIELDS}`);
  return [...fields].some((field) => field.value !== field.defaultValue);
}

/** Whether a text may be thrown away, as the person says. */
export function mayDiscard(): boolean {
  return window.confirm(texts.description.discard);
}

/** Goes on when what is being saved is saved; asks the person first if something would still be lost then. */
export function leave(go: () => void, stay: () => void = () => undefined): void {
  attempts += 1;
  const attempt = attempts;
  const decide = () => {
    // Whoever went two ways meanwhile is asked once, about the last one.
    if (attempt !== attempts) return;
    if (!isHeld()) go();
    else if (mayDiscard()) {
      for (const holder of holders) holder.onDiscard();
      go();
    } else stay();
  };
  const underWay = savings();
  if (underWay.length === 0) {
    decide();
    return;
  }
  const patience = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS));
  void Promise.race([Promise.allSettled(underWay), patience]).then(decide);
}

window.addEventListener("beforeunload", (event) => {
  if (isHeld()) event.preventDefault();
});

const NOTHING = { saving: () => undefined, onDiscard: () => undefined };

/** Says as long as the component is there whether it holds unsaved text, and what else is to be known about it. */
export function useUnsaved(hasUnsaved: () => boolean, more: Partial<Omit<Holder, "hasUnsaved">> = {}): void {
  const current = useRef<Holder>({ ...NOTHING, hasUnsaved });
  current.current = { ...NOTHING, ...more, hasUnsaved };
  // Not a mere effect: whoever is gone holds nothing at the same moment.
  useLayoutEffect(() => {
    const holder: Holder = {
      hasUnsaved: () => current.current.hasUnsaved(),
      saving: () => current.current.saving(),
      onDiscard: () => current.current.onDiscard(),
    };
    holders.add(holder);
    return () => {
      holders.delete(holder);
    };
  }, []);
}
