import * as Primitive from "@radix-ui/react-dialog";
import { useRef, useState, useEffect } from "react";

import { texts } from "../texts.ts";
import { answerQuestion, useDiscardQuestion } from "./discard_question.ts";

/** Asks whether to discard unsaved text, above everything else on the page. */
export function DiscardDialog() {
  const question = useDiscardQuestion();
  const [isOpen, setOpen] = useState(false);
  const isDiscarded = useRef(false);
  const keep = useRef<HTMLButtonElement>(null);
  useEffect(() => setOpen(question !== null), [question]);
  const close = (answer: boolean) => {
    isDiscarded.current = answer;
    setOpen(false);
  };
  return (
    <Primitive.Root open={isOpen} onOpenChange={(open) => !open && close(false)}>
      <Primitive.Portal>
        <Primitive.Overlay className="overlay overlay-top" />
        <Primitive.Content
          role="alertdialog"
          className="dialog dialog-small dialog-top"
          aria-describedby={undefined}
          onOpenAutoFocus={(event) => {
            event.preventDefault();
            keep.current?.focus();
          }}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            // Before the answer, so that what follows finds the focus where it was.
            if (question?.opener instanceof HTMLElement)
              question.opener.focus({ preventScroll: true });
            answerQuestion(isDiscarded.current);
          }}
        >
          <Primitive.Title>{texts.description.discard}</Primitive.Title>
          <div className="dialog-actions">
            <button type="button" ref={keep} onClick={() => close(false)}>
              {texts.description.keep}
            </button>
            <button type="button" className="dangerous" onClick={() => close(true)}>
              {texts.description.discardButton}
            </button>
          </div>
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}
