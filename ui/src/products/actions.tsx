// What changes a data product: its name, its assets and its deletion.

import { useState } from "react";
import { useLocation } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { run } from "../api/client.ts";
import { DeleteDialog } from "../components/delete_dialog.tsx";
import { FormDialog, NameField, fieldOf } from "../components/form_dialog.tsx";
import { Menu } from "../components/menu.tsx";
import { UndoNotice, useUndo } from "../components/undo.tsx";
import {
  AddProductAssetDocument,
  DeleteDataProductDocument,
  ProductActionsDocument,
  RemoveProductAssetDocument,
  RenameDocument,
} from "../generated/operations.ts";
import { nameOf, type Nameable } from "../names.ts";
import { productTexts } from "../product_texts.ts";
import { AddAssetDialog, RemoveAssetDialog } from "./assets.tsx";

export type Asset = Nameable & { readonly urn: string };

type Action = "rename" | "delete" | "add" | "remove";

/** The menu on the page of a data product. */
export function ProductActions({ urn }: { readonly urn: string }) {
  const read = useApiQuery(ProductActionsDocument, { urn });
  const [action, setAction] = useState<Action | null>(null);
  const [, navigate] = useLocation();
  const add = useApiMutation(AddProductAssetDocument);
  const remove = useApiMutation(RemoveProductAssetDocument);
  const { last, report } = useUndo();
  const product = read.data?.dataProduct;
  if (product?.privileges?.canManageEntity !== true) return null;
  const words = productTexts;
  const name = nameOf({ urn, ...product });
  const assets = product.productProperties?.numAssets ?? 0;
  const close = () => setAction(null);
  const open = (next: Action) => () => {
    add.reset();
    remove.reset();
    setAction(next);
  };
  const change = (asset: Asset, isRemoved: boolean) => {
    add.reset();
    remove.reset();
    (isRemoved ? remove : add).mutate(
      { product: urn, asset: asset.urn },
      {
        onSuccess: () => {
          close();
          report((isRemoved ? words.assets.removed : words.assets.added)(nameOf(asset)), () =>
            change(asset, !isRemoved),
          );
        },
      },
    );
  };
  const isBusy = add.isPending || remove.isPending;
  const items = [
    { label: words.assets.add, onSelect: open("add") },
    ...(assets > 0 ? [{ label: words.assets.remove, onSelect: open("remove") }] : []),
    { label: words.rename, onSelect: open("rename") },
    { label: words.remove, onSelect: open("delete"), isDangerous: true },
  ];
  const isPicking = action === "add" || action === "remove";
  return (
    <>
      <Menu label={words.actions(name)} trigger="⋯" items={items} />
      <UndoNotice
        last={last}
        isBusy={isBusy}
        error={isPicking ? null : (add.error ?? remove.error)}
      />
      {action === "add" && (
        <AddAssetDialog
          urn={urn}
          name={name}
          error={add.error}
          onPick={(asset) => !isBusy && change(asset, false)}
          onClose={close}
        />
      )}
      {action === "remove" && (
        <RemoveAssetDialog
          urn={urn}
          name={name}
          error={remove.error}
          onPick={(asset) => !isBusy && change(asset, true)}
          onClose={close}
        />
      )}
      {action === "rename" && <RenameProductDialog urn={urn} name={name} onClose={close} />}
      {action === "delete" && (
        <DeleteDialog
          name={name}
          isReady
          onDelete={() => run(DeleteDataProductDocument, { urn })}
          onClose={close}
          onDeleted={() => navigate(addresses.dataProducts)}
        >
          <p>{words.deletePreview(assets)}</p>
        </DeleteDialog>
      )}
    </>
  );
}

function RenameProductDialog({
  urn,
  name,
  onClose,
}: {
  readonly urn: string;
  readonly name: string;
  readonly onClose: () => void;
}) {
  const [invalid, setInvalid] = useState<string | null>(null);
  const rename = useApiMutation(RenameDocument);
  const submit = (form: FormData) => {
    const renamed = fieldOf(form, "name");
    setInvalid(renamed === "" ? productTexts.nameMissing : null);
    if (renamed !== "") rename.mutate({ urn, name: renamed }, { onSuccess: onClose });
  };
  return (
    <FormDialog
      title={productTexts.renameTitle(name)}
      submit={productTexts.renameButton}
      isBusy={rename.isPending}
      error={rename.error}
      onSubmit={submit}
      onClose={onClose}
    >
      <NameField error={invalid} value={name} />
    </FormDialog>
  );
}
