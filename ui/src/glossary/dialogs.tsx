// Dialogs to create, rename, move and delete a term or a group of terms.

import { useState } from "react";

import { useApiMutation, useMe } from "../api/cache.ts";
import { run } from "../api/client.ts";
import { DeleteDialog } from "../components/delete_dialog.tsx";
import { Dialog } from "../components/dialog.tsx";
import {
  DescriptionField,
  FormDialog,
  NameField,
  closeThen,
  fieldOf,
} from "../components/form_dialog.tsx";
import { MoveConfirmation } from "../components/move_confirmation.tsx";
import { TreePicker } from "../components/tree_picker.tsx";
import { CarriersPreview, useCarriers } from "../entity/carriers.tsx";
import {
  CreateTermDocument,
  CreateTermGroupDocument,
  DeleteGlossaryEntryDocument,
  MoveGlossaryEntryDocument,
  RenameDocument,
} from "../generated/operations.ts";
import { glossaryTexts } from "../glossary_texts.ts";
import {
  TERM_FIELDS,
  contentsOf,
  groupsOf,
  useGlossary,
  type Glossary,
  type GlossaryEntry,
} from "./hierarchy.ts";

export type GlossaryAction =
  | {
      readonly kind: "create";
      readonly what: "term" | "group";
      readonly parent: GlossaryEntry | null;
    }
  | { readonly kind: "rename"; readonly entry: GlossaryEntry }
  | {
      readonly kind: "move";
      readonly entry: GlossaryEntry;
      readonly target?: GlossaryEntry | null;
    }
  | { readonly kind: "delete"; readonly entry: GlossaryEntry };

interface DialogsProperties {
  readonly action: GlossaryAction | null;
  readonly glossary: Glossary;
  readonly onClose: () => void;
  readonly onCreated?: (urn: string) => void;
  readonly onDeleted?: () => void;
}

export function GlossaryDialogs({ action, ...rest }: DialogsProperties) {
  switch (action?.kind) {
    case undefined:
      return null;
    case "create":
      return <CreateDialog what={action.what} parent={action.parent} {...rest} />;
    case "rename":
      return <RenameDialog entry={action.entry} {...rest} />;
    case "move":
      return <MoveDialog entry={action.entry} target={action.target} {...rest} />;
    case "delete":
      return action.entry.isGroup ? (
        <DeleteGroupDialog entry={action.entry} {...rest} />
      ) : (
        <DeleteTermDialog entry={action.entry} {...rest} />
      );
  }
}

type Shared = Omit<DialogsProperties, "action">;

/** Warns about an entry with the same name; the server allows it. */
const takenIn = (others: readonly GlossaryEntry[]) => (name: string) => {
  const folded = name.toLocaleLowerCase();
  const same = others.find((other) => other.name.toLocaleLowerCase() === folded);
  return same === undefined ? null : glossaryTexts.nameTaken(same.name);
};

function CreateDialog({
  what,
  parent,
  glossary,
  onClose,
  onCreated,
}: Shared & { readonly what: "term" | "group"; readonly parent: GlossaryEntry | null }) {
  const create = useApiMutation<
    { createGlossaryTerm?: string | null; createGlossaryNode?: string | null },
    { name: string; description?: string | null; parent?: string | null }
  >(what === "term" ? CreateTermDocument : CreateTermGroupDocument);
  const [invalid, setInvalid] = useState<string | null>(null);
  const submit = (form: FormData) => {
    const name = fieldOf(form, "name");
    setInvalid(name === "" ? glossaryTexts.nameMissing : null);
    if (name === "") return;
    create.mutate(
      { name, description: fieldOf(form, "description") || null, parent: parent?.urn ?? null },
      {
        onSuccess: ({ createGlossaryTerm: term, createGlossaryNode: group }) => {
          const urn = term ?? group;
          if (typeof urn === "string") closeThen(onClose, () => onCreated?.(urn));
        },
      },
    );
  };
  return (
    <FormDialog
      title={glossaryTexts.createTitle(what, parent?.name ?? null)}
      submit={glossaryTexts.create}
      isBusy={create.isPending}
      error={create.error}
      onSubmit={submit}
      onClose={onClose}
    >
      <NameField error={invalid} warningOf={takenIn(parent?.children ?? glossary.roots)} />
      <DescriptionField />
    </FormDialog>
  );
}

function RenameDialog({ entry, glossary, onClose }: Shared & { readonly entry: GlossaryEntry }) {
  const rename = useApiMutation(RenameDocument);
  const [invalid, setInvalid] = useState<string | null>(null);
  const others = (entry.parent?.children ?? glossary.roots).filter(({ urn }) => urn !== entry.urn);
  const submit = (form: FormData) => {
    const name = fieldOf(form, "name");
    setInvalid(name === "" ? glossaryTexts.nameMissing : null);
    if (name !== "") rename.mutate({ urn: entry.urn, name }, { onSuccess: onClose });
  };
  return (
    <FormDialog
      title={glossaryTexts.renameTitle(entry.name)}
      submit={glossaryTexts.renameButton}
      isBusy={rename.isPending}
      error={rename.error}
      onSubmit={submit}
      onClose={onClose}
    >
      <NameField error={invalid} value={entry.name} warningOf={takenIn(others)} />
      <p className="hint">{glossaryTexts.renamePreview(entry.carriers)}</p>
    </FormDialog>
  );
}

function MoveDialog({
  entry,
  target,
  glossary,
  onClose,
}: Shared & {
  readonly entry: GlossaryEntry;
  /** The new group; the user picks it when undefined. */
  readonly target: GlossaryEntry | null | undefined;
}) {
  const [destination, setDestination] = useState(target);
  const move = useApiMutation(MoveGlossaryEntryDocument);
  const read = useGlossary();
  const canMoveToTopLevel = useMe().data?.me?.platformPrivileges.manageGlossaries === true;
  const words = glossaryTexts;
  if (destination === undefined) {
    const toTopLevel = { label: words.topLevel, onPick: () => setDestination(null) };
    return (
      <Dialog title={words.moveTitle(entry.name)} isOpen onClose={onClose}>
        <TreePicker
          words={words.picker}
          hierarchy={groupsOf(glossary)}
          read={read}
          current={entry.parent?.urn}
          excluded={entry.urn}
          onPick={(urn) => setDestination(glossary.byUrn.get(urn) ?? null)}
          canPick={(group) => group.canManageChildren}
          none={entry.parent !== null && canMoveToTopLevel ? toTopLevel : undefined}
        />
      </Dialog>
    );
  }
  const isSame = (destination?.urn ?? null) === (entry.parent?.urn ?? null);
  const { groups, terms } = contentsOf(entry);
  return (
    <MoveConfirmation
      title={words.moveTitle(entry.name)}
      text={words.moveTo}
      destination={destination?.name ?? words.topLevel}
      hint={isSame ? words.moveSame : words.movePreview(groups, terms)}
      button={words.moveButton}
      isSame={isSame}
      isBusy={move.isPending}
      error={move.error}
      onMove={() =>
        move.mutate({ urn: entry.urn, parent: destination?.urn ?? null }, { onSuccess: onClose })
      }
      onClose={onClose}
    />
  );
}

function DeleteTermDialog({
  entry,
  onClose,
  onDeleted,
}: Shared & { readonly entry: GlossaryEntry }) {
  const carriers = useCarriers(TERM_FIELDS, entry.urn);
  return (
    <DeleteDialog
      name={entry.name}
      isReady={carriers.isSuccess}
      onDelete={() => run(DeleteGlossaryEntryDocument, { urn: entry.urn })}
      onClose={onClose}
      onDeleted={onDeleted}
    >
      <CarriersPreview read={carriers} words={glossaryTexts.deleteTerm} />
    </DeleteDialog>
  );
}

function DeleteGroupDialog({
  entry,
  onClose,
  onDeleted,
}: Shared & { readonly entry: GlossaryEntry }) {
  const groups = entry.children.filter((child) => child.isGroup).length;
  return (
    <DeleteDialog
      name={entry.name}
      isReady
      onDelete={() => run(DeleteGlossaryEntryDocument, { urn: entry.urn })}
      onClose={onClose}
      onDeleted={onDeleted}
    >
      <p>{glossaryTexts.deleteGroup(groups, entry.children.length - groups)}</p>
    </DeleteDialog>
  );
}
