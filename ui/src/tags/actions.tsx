import { useState } from "react";
import { useLocation } from "wouter";

import * as addresses from "../addresses.ts";
import { Menu } from "../components/menu.tsx";
import { UndoNotice, useUndo } from "../components/undo.tsx";
import { tagTexts } from "../tag_texts.ts";
import { DeleteTagDialog, EditTagDialog, saveTag, type EditedTag } from "./dialogs.tsx";
import { useTagPrivileges } from "./privileges.ts";

/** The menu on the page of a tag. */
export function TagActions({ tag }: { readonly tag: EditedTag }) {
  const { canEdit, canDelete } = useTagPrivileges(tag.urn);
  const [action, setAction] = useState<"edit" | "delete" | null>(null);
  const [, navigate] = useLocation();
  const { last, report, clear } = useUndo();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const words = tagTexts;
  const saved = (before: EditedTag, after: EditedTag) => {
    setError(null);
    report(words.changed, () => {
      setBusy(true);
      saveTag(after, before)
        .then(clear, setError)
        .finally(() => setBusy(false));
    });
  };
  const items = [
    ...(canEdit ? [{ label: words.edit, onSelect: () => setAction("edit" as const) }] : []),
    ...(canDelete
      ? [{ label: words.remove, onSelect: () => setAction("delete"), isDangerous: true }]
      : []),
  ];
  const close = () => setAction(null);
  return (
    <>
      {items.length > 0 && <Menu label={words.actions(tag.name)} trigger="⋯" items={items} />}
      <UndoNotice last={last} isBusy={isBusy} error={error} />
      {action === "edit" && (
        <EditTagDialog tag={tag} onClose={close} onSaved={(after) => saved(tag, after)} />
      )}
      {action === "delete" && (
        <DeleteTagDialog tag={tag} onClose={close} onDeleted={() => navigate(addresses.tags)} />
      )}
    </>
  );
}
