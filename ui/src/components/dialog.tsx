import * as Primitive from "@radix-ui/react-dialog";
import { useRef, type KeyboardEvent, type ReactNode } from "react";

import { texts } from "../texts.ts";
import { focusBack, useFocusBefore } from "./focus.ts";
import { hasTyped, mayDiscard } from "./unsaved.ts";

interface DialogProperties {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly isWide?: boolean;
}

/** Ctrl+Enter does what the form is for, as it saves everywhere else. */
function submitByKeys(event: KeyboardEvent): void {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || !(event.target instanceof Element)) return;
  const submit = event.target.closest("form")?.querySelector<HTMLButtonElement>("[type=submit]");
  if (submit === undefined || submit === null) return;
  event.preventDefault();
  submit.click();
}

/** A window in the window. It takes the focus, gives it back, and closes with Esc; what was typed into it is not thrown away
 *  without a question. */
export function Dialog({ title, isOpen, onClose, children, isWide }: DialogProperties) {
  const content = useRef<HTMLDivElement>(null);
  const before = useFocusBefore(isOpen);
  const close = () => {
    if (content.current === null || !hasTyped(content.current) || mayDiscard()) onClose();
  };
  return (
    <Primitive.Root open={isOpen} onOpenChange={(open) => !open && close()}>
      <Primitive.Portal>
        <Primitive.Overlay className="overlay" />
        <Primitive.Content
          ref={content}
          className={isWide === true ? "dialog dialog-wide" : "dialog"}
          aria-describedby={undefined}
          onKeyDown={submitByKeys}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            focusBack(before());
          }}
        >
          <header className="dialog-head">
            <Primitive.Title>{title}</Primitive.Title>
            <Primitive.Close className="quiet" aria-label={texts.common.close}>
              ✕
            </Primitive.Close>
          </header>
          {children}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}
