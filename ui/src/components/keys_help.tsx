import { Fragment } from "react";

import { texts } from "../texts.ts";
import { Dialog } from "./dialog.tsx";
import { areSingleKeysOn } from "./keys.ts";
import { Key } from "./small.tsx";

export function KeysHelp({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  return (
    <Dialog title={texts.keys.title} isOpen={isOpen} onClose={onClose}>
      {!areSingleKeysOn() && <p className="notice">{texts.keys.off}</p>}
      <dl className="keys">
        {texts.keys.list.map((entry) => (
          <Fragment key={entry.does}>
            <dt>
              <Keys names={entry.keys} />
              {entry.also !== undefined && (
                <>
                  {" "}
                  {texts.keys.or} <Keys names={entry.also} />
                </>
              )}
            </dt>
            <dd>{entry.does}</dd>
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
