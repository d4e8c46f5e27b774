// Dialogs to create, edit and delete a tag.

import { useState } from "react";

import { refreshAll, useApiMutation } from "../api/cache.ts";
import { run } from "../api/client.ts";
import { DeleteDialog } from "../components/delete_dialog.tsx";
import {
  DescriptionField,
  FormDialog,
  NameField,
  closeThen,
  fieldOf,
} from "../components/form_dialog.tsx";
import { newNameProblem } from "../entity/by_name.ts";
import { CarriersPreview, useCarriers } from "../entity/carriers.tsx";
import {
  CreateTagDocument,
  DeleteTagDocument,
  RenameTagDocument,
  SetTagColorDocument,
} from "../generated/operations.ts";
import { tagTexts } from "../tag_texts.ts";
import { accentColor } from "../theme.ts";

/** The fields of the index that name the tags of an entity and of its columns. */
export const TAG_FIELDS = ["tags", "fieldTags", "editedFieldTags"];

export interface EditedTag {
  readonly urn: string;
  readonly name: string;
  readonly color: string | null;
}

export function CreateTagDialog({
  onClose,
  onCreated,
}: {
  readonly onClose: () => void;
  readonly onCreated: (urn: string) => void;
}) {
  const [invalid, setInvalid] = useState<string | null>(null);
  const create = useApiMutation(CreateTagDocument);
  const paint = useApiMutation(SetTagColorDocument);
  const submit = async (form: FormData) => {
    const name = fieldOf(form, "name");
    const problem = await newNameProblem("TAG", name, tagTexts);
    setInvalid(problem);
    if (problem !== null) return;
    const done = (urn: string) => closeThen(onClose, () => onCreated(urn));
    create.mutate(
      { name, description: fieldOf(form, "description") || null },
      {
        onSuccess: ({ createTag: urn }) => {
          if (typeof urn !== "string") return;
          const color = colorOf(form);
          if (color === null) done(urn);
          else paint.mutate({ urn, color }, { onSuccess: () => done(urn) });
        },
      },
    );
  };
  return (
    <FormDialog
      title={tagTexts.create}
      submit={tagTexts.createButton}
      isBusy={create.isPending || paint.isPending}
      error={create.error ?? paint.error}
      onSubmit={(form) => void submit(form)}
      onClose={onClose}
    >
      <NameField error={invalid} />
      <DescriptionField />
      <ColorField color={null} />
    </FormDialog>
  );
}

/** Edits the name and the color; the description is edited on the page. */
export function EditTagDialog({
  tag,
  onClose,
  onSaved,
}: {
  readonly tag: EditedTag;
  readonly onClose: () => void;
  readonly onSaved: (after: EditedTag) => void;
}) {
  const [invalid, setInvalid] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const submit = (form: FormData) => {
    const name = fieldOf(form, "name");
    setInvalid(name === "" ? tagTexts.nameMissing : null);
    if (name === "") return;
    setBusy(true);
    setError(null);
    const after = { ...tag, name, color: colorOf(form) ?? tag.color };
    saveTag(tag, after)
      .then(() => {
        onClose();
        onSaved(after);
      }, setError)
      .finally(() => setBusy(false));
  };
  return (
    <FormDialog
      title={tagTexts.editTitle(tag.name)}
      submit={tagTexts.save}
      isBusy={isBusy}
      error={error}
      onSubmit={submit}
      onClose={onClose}
    >
      <NameField error={invalid} value={tag.name} />
      <ColorField color={tag.color} />
    </FormDialog>
  );
}

/** Saves what differs between two versions of a tag. */
export async function saveTag(before: EditedTag, after: EditedTag): Promise<void> {
  if (after.name !== before.name)
    await run(RenameTagDocument, { urn: before.urn, name: after.name });
  if (after.color !== before.color)
    await run(SetTagColorDocument, { urn: before.urn, color: after.color ?? "" });
  await refreshAll();
}

/** The color, if one is chosen. */
const colorOf = (form: FormData) => (form.has("color") ? fieldOf(form, "color") : null);

function ColorField({ color }: { readonly color: string | null }) {
  const [isColored, setColored] = useState(color !== null && color !== "");
  return (
    <div className="color-field">
      {isColored ? (
        <label>
          {tagTexts.color}
          <input type="color" name="color" defaultValue={color || accentColor()} />
        </label>
      ) : (
        <label className="checkbox-label">
          <input type="checkbox" onChange={() => setColored(true)} />
          {tagTexts.color}
        </label>
      )}
    </div>
  );
}

export function DeleteTagDialog({
  tag,
  onClose,
  onDeleted,
}: {
  readonly tag: EditedTag;
  readonly onClose: () => void;
  readonly onDeleted?: (() => void) | undefined;
}) {
  const carriers = useCarriers(TAG_FIELDS, tag.urn);
  return (
    <DeleteDialog
      name={tag.name}
      isReady={carriers.isSuccess}
      onDelete={() => run(DeleteTagDocument, { urn: tag.urn })}
      onClose={onClose}
      onDeleted={onDeleted}
    >
      <CarriersPreview read={carriers} words={tagTexts.deletePreview} />
    </DeleteDialog>
  );
}
