import type { ReactNode } from "react";

import { ApiError } from "../api/client.ts";
import { Dialog } from "../components/dialog.tsx";
import { ErrorMessage } from "../components/states.tsx";
import { texts } from "../texts.ts";

interface RestoreDialogProperties {
  readonly onClose: () => void;
  readonly onRestore: () => void;
  readonly error: Error | null;
  readonly isBusy: boolean;
  readonly children: ReactNode;
}

/** Shows what restoring changes, and asks. */
export function RestoreDialog({
  onClose,
  onRestore,
  error,
  isBusy,
  children,
}: RestoreDialogProperties) {
  return (
    <Dialog title={texts.history.restoreTitle} isOpen onClose={onClose}>
      <p>{texts.history.restorePreview}</p>
      {children}
      {error !== null && <ErrorMessage error={error} />}
      <div className="dialog-actions">
        <button type="button" onClick={onClose}>
          {texts.common.cancel}
        </button>
        <button type="button" className="primary" disabled={isBusy} onClick={onRestore}>
          {texts.history.restoreButton}
        </button>
      </div>
    </Dialog>
  );
}

export function describeConflict(error: Error | null): Error | null {
  return error instanceof ApiError && error.code === 409
    ? new Error(texts.history.conflict)
    : error;
}
