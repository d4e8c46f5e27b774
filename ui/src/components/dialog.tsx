import * as Primitive from "@radix-ui/react-dialog";
import { useRef, type KeyboardEvent, type ReactNode } from "react";

import { Icon } from "../icons/icon.tsx";
import { texts } from "../texts.ts";
import { confirmDiscard } from "./discard_question.ts";
import { restoreFocus, useOpener } from "./focus.ts";
import { hasFormChanges } from "./unsaved.ts";

interface DialogProperties {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly isWide?: boolean;
}

/** Ctrl+Enter submits the form, as it saves everywhere else. */
function submitOnCtrlEnter(event: KeyboardEvent): void {
  if (
    event.key !== "Enter" ||
    !(event.ctrlKey || event.metaKey) ||
    !(event.target instanceof Element)
  )
    return;
  const submit = event.target.closest("form")?.querySelector<HTMLButtonElement>("[type=submit]");
  if (submit === undefined || submit === null) return;
  event.preventDefault();
  submit.click();
}

/** A modal dialog. Returns the focus when it closes, and asks before discarding typed text. */
export function Dialog({ title, isOpen, onClose, children, isWide }: DialogProperties) {
  const content = useRef<HTMLDivElement>(null);
  const opener = useOpener(isOpen);
  const close = async () => {
    const isChanged = content.current !== null && hasFormChanges(content.current);
    if (!isChanged || (await confirmDiscard())) onClose();
  };
  return (
    <Primitive.Root open={isOpen} onOpenChange={(open) => !open && void close()}>
      <Primitive.Portal>
        <Primitive.Overlay className="overlay" />
        <Primitive.Content
          ref={content}
          className={isWide === true ? "dialog dialog-wide" : "dialog"}
          aria-describedby={undefined}
          onKeyDown={submitOnCtrlEnter}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            restoreFocus(opener());
          }}
        >
          <header className="dialog-header">
            <Primitive.Title>{title}</Primitive.Title>
            <Primitive.Close className="icon-button quiet" aria-label={texts.common.close}>
              <Icon name="close" />
            </Primitive.Close>
          </header>
          {children}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}
