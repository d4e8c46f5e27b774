import { useState } from "react";

import { Dialog } from "../components/dialog.tsx";
import { focusElementOrContent } from "../components/focus.ts";
import { Menu } from "../components/menu.tsx";
import { DomainPicker } from "../domains/picker.tsx";
import { useDomainHierarchy } from "../domain_hierarchy.ts";
import { bulkTexts } from "../bulk_texts.ts";
import { selectionTexts } from "../selection_texts.ts";
import { texts } from "../texts.ts";
import { ActionDialog } from "./action_dialog.tsx";
import type { ActionKind } from "./actions.ts";
import { ExportDialog } from "./export_dialog.tsx";
import { setLastRun, useLastRun, type LastRun } from "./last_run.ts";
import { RunView } from "./run_view.tsx";
import { useSelection } from "./selection.ts";

const MENUS: readonly (readonly [keyof typeof bulkTexts.menus, readonly ActionKind[]])[] = [
  ["domain", ["setDomain", "removeDomain"]],
  ["tags", ["addTags", "removeTags"]],
  ["terms", ["addTerms", "removeTerms"]],
  ["owners", ["addOwners", "removeOwners"]],
  ["more", ["deprecate", "undeprecate", "delete", "restore"]],
];

type Open =
  | { readonly dialog: "pickDomain" | "export" }
  | { readonly dialog: "action"; readonly kind: ActionKind; readonly domain?: string }
  | { readonly dialog: "undo"; readonly run: LastRun };

/** What to do with the selection, at the end of the window; and the undo of the last change. */
export function SelectionBar({ elsewhere }: { readonly elsewhere: number }) {
  const { selected, clear } = useSelection();
  const lastRun = useLastRun();
  const [open, setOpen] = useState<Open | null>(null);
  const { hierarchy } = useDomainHierarchy();
  const close = () => setOpen(null);
  const start = (kind: ActionKind) =>
    setOpen(kind === "setDomain" ? { dialog: "pickDomain" } : { dialog: "action", kind });
  const items = [...selected.values()];
  return (
    <section className="selection-bar" aria-label={bulkTexts.bar}>
      {lastRun !== null && (
        <div className="selection-undo">
          <span>{bulkTexts[lastRun.isUndo ? "lastUndo" : "lastChange"](lastRun.changed)}</span>
          <button
            type="button"
            className="subtle"
            onClick={() => setOpen({ dialog: "undo", run: lastRun })}
          >
            {lastRun.isUndo ? bulkTexts.redo : bulkTexts.undo}
          </button>
          <button
            type="button"
            className="subtle"
            aria-label={bulkTexts.dismiss}
            onClick={() => setLastRun(null)}
          >
            ✕
          </button>
        </div>
      )}
      {selected.size > 0 && (
        <div className="selection-actions">
          <span className="selection-count">
            <strong>{selectionTexts.selected(selected.size)}</strong>
            {elsewhere > 0 && (
              <span className="hint"> {bulkTexts.selectedElsewhere(elsewhere)}</span>
            )}
          </span>
          {MENUS.map(([menu, kinds]) => (
            <Menu
              key={menu}
              label={bulkTexts.menus[menu]}
              className="selection-menu"
              trigger={
                <>
                  {bulkTexts.menus[menu]} <span aria-hidden="true">▾</span>
                </>
              }
              items={[
                ...kinds.map((kind) => ({
                  label: bulkTexts.actions[kind],
                  onSelect: () => start(kind),
                })),
                ...(menu === "more"
                  ? [{ label: bulkTexts.exportCsv, onSelect: () => setOpen({ dialog: "export" }) }]
                  : []),
              ]}
            />
          ))}
          <button
            type="button"
            className="subtle"
            onClick={() => {
              clear();
              // The bar disappears with its button.
              focusElementOrContent(undefined);
            }}
          >
            {bulkTexts.clear}
          </button>
        </div>
      )}
      {open?.dialog === "pickDomain" && (
        <DomainPicker
          title={texts.domainPicker.title}
          isOpen
          onClose={close}
          onPick={(domain) => setOpen({ dialog: "action", kind: "setDomain", domain })}
        />
      )}
      {open?.dialog === "action" && (
        <ActionDialog
          kind={open.kind}
          domain={
            open.domain === undefined
              ? null
              : { urn: open.domain, name: hierarchy?.byUrn.get(open.domain)?.name ?? open.domain }
          }
          selected={items}
          onClose={close}
        />
      )}
      {open?.dialog === "undo" && (
        <Dialog
          title={open.run.isUndo ? bulkTexts.redoTitle : bulkTexts.undoTitle}
          isOpen
          onClose={close}
        >
          <RunView edits={open.run.undo} isUndo={!open.run.isUndo} onClose={close} />
        </Dialog>
      )}
      {open?.dialog === "export" && <ExportDialog selected={items} onClose={close} />}
    </section>
  );
}

export default SelectionBar;
