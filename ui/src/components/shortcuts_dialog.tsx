import { Fragment } from "react";

import { texts } from "../texts.ts";
import { Dialog } from "./dialog.tsx";
import { areSingleKeyShortcutsEnabled } from "./shortcuts.ts";
import { Key } from "./common.tsx";

export function ShortcutsDialog({
  isOpen,
  onClose,
}: {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}) {
  return (
    <Dialog title={texts.shortcuts.title} isOpen={isOpen} onClose={onClose}>
      {!areSingleKeyShortcutsEnabled() && <p className="notice">{texts.shortcuts.disabled}</p>}
      <dl className="shortcut-list">
        {texts.shortcuts.list.map((entry) => (
          <Fragment key={entry.action}>
            <dt>
              <Keys names={entry.keys} />
              {entry.alternative !== undefined && (
                <>
                  {" "}
                  {texts.shortcuts.or} <Keys names={entry.alternative} />
                </>
              )}
            </dt>
            <dd>{entry.action}</dd>
          </Fragment>
        ))}
      </dl>
    </Dialog>
  );
}

function Keys({ names }: { readonly names: readonly string[] }) {
  return names.map((name, index) => (
    <Fragment key={name}>
      {index > 0 && " "}
      <Key>{name}</Key>
    </Fragment>
  ));
}
