import * as Primitive from "@radix-ui/react-dialog";
import type { ReactNode } from "react";

import { texts } from "../texts.ts";

interface DialogProperties {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly isWide?: boolean;
}

/** A window in the window. It takes the focus, gives it back, and closes with Esc. */
export function Dialog({ title, isOpen, onClose, children, isWide }: DialogProperties) {
  return (
    <Primitive.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Primitive.Portal>
        <Primitive.Overlay className="overlay" />
        <Primitive.Content className={isWide === true ? "dialog dialog-wide" : "dialog"} aria-describedby={undefined}>
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
