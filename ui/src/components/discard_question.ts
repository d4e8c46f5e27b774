// The question whether to discard unsaved text. Any part of the page asks it; the dialog that shows
// it is in discard_dialog.tsx.

import { useSyncExternalStore } from "react";

interface Question {
  /** What had the focus, which gets it back before the answer is known. */
  readonly opener: Element | null;
  readonly answer: Promise<boolean>;
  readonly resolve: (isDiscarded: boolean) => void;
}

let question: Question | null = null;
const listeners = new Set<() => void>();

function show(shown: Question | null): void {
  question = shown;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useDiscardQuestion = () => useSyncExternalStore(subscribe, () => question);

/** Whether the question is open: a text field that loses the focus to it is still being edited. */
export const isAskingToDiscard = () => question !== null;

/** Asks the user whether to discard unsaved text. Everybody who asks meanwhile gets the same
 *  answer. */
export function confirmDiscard(): Promise<boolean> {
  if (question !== null) return question.answer;
  let resolve: Question["resolve"] = () => undefined;
  const answer = new Promise<boolean>((settle) => (resolve = settle));
  show({ opener: document.activeElement, answer, resolve });
  return answer;
}

/** Closes the question with an answer. */
export function answerQuestion(isDiscarded: boolean): void {
  const answered = question;
  show(null);
  answered?.resolve(isDiscarded);
}
