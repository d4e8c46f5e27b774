import { useState } from "react";

import { Dialog } from "../components/dialog.tsx";
import { EntityPicker } from "../components/entity_picker.tsx";
import type { EntityType } from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { policyTexts } from "../policy_texts.ts";
import type { Named } from "./policy.ts";

interface PickerProperties {
  readonly button: string;
  readonly types: EntityType[];
  readonly words: {
    readonly filter: string;
    readonly list: string;
    readonly chosen: string;
    readonly noMatch: (query: string) => string;
  };
  readonly hintOf?: (urn: string) => string | undefined;
  readonly chosen: readonly Named[];
  readonly onChange: (chosen: readonly Named[]) => void;
}

/** Entities as chips, and a dialog that finds more of them. */
export function NamedPicker({ button, types, words, hintOf, chosen, onChange }: PickerProperties) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <NamedChips chosen={chosen} onChange={onChange} />
      <button type="button" onClick={() => setOpen(true)}>
        {button}
      </button>
      {isOpen && (
        <Dialog title={button} isOpen onClose={() => setOpen(false)}>
          <EntityPicker
            types={types}
            words={words}
            chosen={new Set(chosen.map(({ urn }) => urn))}
            hintOf={(entity) => hintOf?.(entity.urn)}
            error={null}
            onPick={(entity) => {
              onChange([...chosen, { urn: entity.urn, name: nameOf(entity) }]);
              setOpen(false);
            }}
          />
        </Dialog>
      )}
    </>
  );
}

/** What is chosen, each with a button that removes it. */
export function NamedChips({
  chosen,
  onChange,
}: {
  readonly chosen: readonly Named[];
  readonly onChange: (chosen: readonly Named[]) => void;
}) {
  if (chosen.length === 0) return null;
  return (
    <ul className="chips">
      {chosen.map(({ urn, name }) => (
        <li key={urn} className="chip" title={urn}>
          <span dir="auto">{name}</span>
          <button
            type="button"
            className="chip-remove"
            aria-label={policyTexts.form.remove(name)}
            onClick={() => onChange(chosen.filter((it) => it.urn !== urn))}
          >
            ✕
          </button>
        </li>
      ))}
    </ul>
  );
}
