// Parts that the sections of the administration share.

import type { ReactNode } from "react";

import { Dialog } from "../components/dialog.tsx";
import { ErrorMessage } from "../components/states.tsx";
import { TableScroll } from "../components/table_scroll.tsx";
import { adminTexts } from "../admin_texts.ts";

interface ConfirmProperties {
  readonly title: string;
  readonly button: string;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  /** What the change affects. */
  readonly children: ReactNode;
}

/** Asks before a change that is dangerous or cannot be undone, and says what it affects. */
export function ConfirmDialog({
  title,
  button,
  isBusy,
  error,
  onConfirm,
  onClose,
  children,
}: ConfirmProperties) {
  return (
    <Dialog title={title} isOpen onClose={onClose}>
      {children}
      {error !== null && <ErrorMessage error={error} />}
      <div className="dialog-actions">
        <button type="button" onClick={onClose}>
          {adminTexts.cancel}
        </button>
        <button type="button" className="dangerous" disabled={isBusy} onClick={onConfirm}>
          {button}
        </button>
      </div>
    </Dialog>
  );
}

/** A warning about a change, such as the loss of one's own rights. */
export function Warning({ children }: { readonly children: ReactNode }) {
  return <p className="notice admin-warning">{children}</p>;
}

interface SelectProperties {
  readonly label: string;
  readonly options: Readonly<Record<string, string>>;
  readonly value: string;
  readonly isDisabled?: boolean;
  readonly onChange: (value: string) => void;
}

/** A list to choose from, by the names of its options. */
export function Select({ label, options, value, isDisabled, onChange }: SelectProperties) {
  return (
    <select
      aria-label={label}
      value={value}
      disabled={isDisabled}
      onChange={(event) => onChange(event.target.value)}
    >
      {Object.entries(options).map(([name, text]) => (
        <option key={name} value={name}>
          {text}
        </option>
      ))}
    </select>
  );
}

interface FilterProperties {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** The field above a list that narrows it. */
export function FilterField({ label, value, onChange }: FilterProperties) {
  return (
    <input
      type="search"
      className="column-filter"
      aria-label={label}
      placeholder={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

/** A table whose rows become paragraphs on narrow screens. */
export function AdminTable({
  columns,
  hasActions = true,
  children,
}: {
  /** The headings, in order. */
  readonly columns: Readonly<Record<string, string>>;
  /** Whether a last column without a heading has what users can do with the row. */
  readonly hasActions?: boolean;
  /** The rows. */
  readonly children: ReactNode;
}) {
  return (
    <TableScroll>
      <table className="data-table stacked">
        <thead>
          <tr>
            {Object.values(columns).map((label) => (
              <th key={label} scope="col">
                {label}
              </th>
            ))}
            {hasActions && <td />}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </TableScroll>
  );
}
