// The dialogs behind the header of a dataset.

import { useState } from "react";

import { EntityLink } from "../components/common.tsx";
import { Dialog } from "../components/dialog.tsx";
import { EntityPicker } from "../components/entity_picker.tsx";
import { ErrorMessage } from "../components/states.tsx";
import type { UpdateDeprecationInput } from "../generated/operations.ts";
import { IconButton } from "../icons/icon_button.tsx";
import { locationOf, type Nameable } from "../names.ts";
import { texts } from "../texts.ts";

interface FormProperties {
  readonly saveLabel: string;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly onClose: () => void;
}

interface RenameProperties extends FormProperties {
  readonly name: string;
  readonly onSave: (name: string) => void;
}

export function RenameDialog({
  name,
  saveLabel,
  isBusy,
  error,
  onSave,
  onClose,
}: RenameProperties) {
  const words = texts.datasetHeader.rename;
  const [isMissing, setMissing] = useState(false);
  return (
    <Dialog title={words.title} isOpen onClose={onClose}>
      <form
        className="form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          const typed = String(new FormData(event.currentTarget).get("name")).trim();
          setMissing(typed === "");
          if (typed !== "" && !isBusy) onSave(typed);
        }}
      >
        <label>
          {words.name}
          <input name="name" type="text" dir="auto" defaultValue={name} aria-invalid={isMissing} />
          <span className="hint">{words.hint}</span>
          {isMissing && <span className="field-error">{words.missing}</span>}
        </label>
        {error !== null && <ErrorMessage error={error} />}
        <Actions saveLabel={saveLabel} isBusy={isBusy} onClose={onClose} />
      </form>
    </Dialog>
  );
}

interface DeprecationProperties extends FormProperties {
  readonly stored: UpdateDeprecationInput;
  readonly replacement: (Nameable & { readonly urn: string }) | undefined;
  readonly onSave: (input: UpdateDeprecationInput) => void;
}

export function DeprecationDialog(properties: DeprecationProperties) {
  const { stored, saveLabel, isBusy, error, onSave, onClose } = properties;
  const words = texts.datasetHeader.deprecation;
  const [replacement, setReplacement] = useState(properties.replacement);
  const [isChoosing, setChoosing] = useState(false);
  return (
    <Dialog title={words.title} isOpen onClose={onClose}>
      <form
        className="form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (isBusy) return;
          const fields = new FormData(event.currentTarget);
          const day = String(fields.get("date"));
          onSave({
            urn: stored.urn,
            deprecated: true,
            note: String(fields.get("note")).trim(),
            decommissionTime: day === "" ? null : Date.parse(day),
            replacement: replacement?.urn ?? null,
          });
        }}
      >
        <label>
          {words.note}
          <textarea name="note" dir="auto" rows={3} defaultValue={stored.note ?? ""} />
          <span className="hint">{words.noteHint}</span>
        </label>
        <label>
          <span>
            {words.date} <span className="hint">{words.optional}</span>
          </span>
          <input name="date" type="date" defaultValue={dayOf(stored.decommissionTime)} />
        </label>
        <div className="field">
          <strong>{words.replacement}</strong>
          <div className="field-value">
            {replacement === undefined ? (
              <span className="hint">{words.noReplacement}</span>
            ) : (
              <EntityLink entity={replacement} />
            )}
            <button type="button" className="subtle" onClick={() => setChoosing(!isChoosing)}>
              {words.choose}
            </button>
            {replacement !== undefined && (
              <IconButton
                icon="close"
                label={words.clear}
                onClick={() => setReplacement(undefined)}
              />
            )}
          </div>
        </div>
        {isChoosing && (
          <EntityPicker
            types={["DATASET"]}
            words={words}
            chosen={new Set([stored.urn, ...(replacement === undefined ? [] : [replacement.urn])])}
            hintOf={(entity) => ("parentContainers" in entity ? locationOf(entity) : undefined)}
            error={null}
            onPick={(picked) => {
              setReplacement(picked);
              setChoosing(false);
            }}
          />
        )}
        {error !== null && <ErrorMessage error={error} />}
        <Actions saveLabel={saveLabel} isBusy={isBusy} onClose={onClose} />
      </form>
    </Dialog>
  );
}

/** A day as a date field has it, or an empty string. */
function dayOf(time: number | null | undefined): string {
  return time === null || time === undefined || time === 0
    ? ""
    : new Date(time).toISOString().slice(0, 10);
}

function Actions({ saveLabel, isBusy, onClose }: Omit<FormProperties, "error">) {
  return (
    <div className="dialog-actions">
      <button type="button" onClick={onClose}>
        {texts.datasetHeader.cancel}
      </button>
      <button type="submit" className="primary" disabled={isBusy}>
        {saveLabel}
      </button>
    </div>
  );
}
