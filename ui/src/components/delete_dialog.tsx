import { useState, type ReactNode } from "react";

import { refreshAll } from "../api/cache.ts";
import { texts } from "../texts.ts";
import { Dialog } from "./dialog.tsx";
import { ErrorMessage } from "./states.tsx";

interface DeleteDialogProperties {
  readonly name: string;
  /** What the deletion affects. */
  readonly children: ReactNode;
  /** Whether the preview is complete, so that the user knows what they confirm. */
  readonly isReady: boolean;
  readonly onDelete: () => Promise<unknown>;
  readonly onClose: () => void;
  /** Called before the page is refreshed, to leave the page of the deleted entity. */
  readonly onDeleted?: (() => void) | undefined;
}

/** Asks before a deletion, with a preview of what it affects. */
export function DeleteDialog(properties: DeleteDialogProperties) {
  const { name, children, isReady, onDelete, onClose, onDeleted } = properties;
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const submit = async () => {
    setBusy(true);
    setError(null);
    try {
      await onDelete();
    } catch (caught) {
      setError(caught as Error);
      setBusy(false);
      return;
    }
    // Leave the page of the entity before refreshing, or it would request the deleted entity.
    onClose();
    onDeleted?.();
    await refreshAll();
  };
  return (
    <Dialog title={texts.domains.deleteTitle(name)} isOpen onClose={onClose}>
      {children}
      {error !== null && <ErrorMessage error={error} />}
      <div className="dialog-actions">
        <button type="button" onClick={onClose}>
          {texts.common.cancel}
        </button>
        <button
          type="button"
          className="dangerous"
          disabled={!isReady || isBusy}
          onClick={() => void submit()}
        >
          {texts.domains.deleteButton}
        </button>
      </div>
    </Dialog>
  );
}
