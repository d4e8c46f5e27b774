import { Menu } from "../components/menu.tsx";
import { glossaryTexts } from "../glossary_texts.ts";
import type { GlossaryAction } from "./dialogs.tsx";
import type { GlossaryEntry } from "./hierarchy.ts";

/** The actions that the user may take on an entry. Renders nothing if there are none. */
export function GlossaryMenu({
  entry,
  onAction,
}: {
  readonly entry: GlossaryEntry;
  readonly onAction: (action: GlossaryAction) => void;
}) {
  const words = glossaryTexts;
  const create = (what: "term" | "group") => () =>
    onAction({ kind: "create", what, parent: entry });
  const childActions = [
    { label: words.createTerm, onSelect: create("term") },
    { label: words.createGroup, onSelect: create("group") },
  ];
  const ownActions = [
    { label: words.rename, onSelect: () => onAction({ kind: "rename", entry }) },
    { label: words.move, onSelect: () => onAction({ kind: "move", entry }) },
    {
      label: words.remove,
      onSelect: () => onAction({ kind: "delete", entry }),
      isDangerous: true,
    },
  ];
  const items = [
    ...(entry.isGroup && entry.canManageChildren ? childActions : []),
    ...(entry.canManage ? ownActions : []),
  ];
  return items.length === 0 ? null : (
    <Menu label={words.actions(entry.name)} trigger="⋯" items={items} />
  );
}
