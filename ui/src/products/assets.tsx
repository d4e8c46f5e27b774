// Dialogs to choose an asset to add to a data product, or to remove from it.

import { useState } from "react";

import { useApiQuery } from "../api/cache.ts";
import { Dialog } from "../components/dialog.tsx";
import { EntityPicker } from "../components/entity_picker.tsx";
import { OptionPicker } from "../components/option_picker.tsx";
import { ErrorMessage, LoadingOrError, StaleNotice } from "../components/states.tsx";
import { ASSET_TYPES } from "../entity/asset_types.ts";
import { ProductAssetsDocument } from "../generated/operations.ts";
import { contextOf, nameOf, type Nameable } from "../names.ts";
import { productTexts } from "../product_texts.ts";

interface AssetDialogProperties {
  /** The data product. */
  readonly urn: string;
  readonly name: string;
  readonly error: Error | null;
  readonly onPick: (asset: Nameable & { readonly urn: string }) => void;
  readonly onClose: () => void;
}

export function AddAssetDialog({ urn, name, error, onPick, onClose }: AssetDialogProperties) {
  const words = productTexts.assets;
  const assets = useAssets(urn);
  return (
    <Dialog title={words.addTitle(name)} isOpen onClose={onClose}>
      <EntityPicker
        types={[...ASSET_TYPES]}
        words={words}
        chosen={new Set(assets.assets.map((asset) => asset.urn))}
        error={error}
        onPick={onPick}
      />
    </Dialog>
  );
}

export function RemoveAssetDialog({ urn, name, error, onPick, onClose }: AssetDialogProperties) {
  const words = productTexts.assets;
  const { assets, read } = useAssets(urn);
  const [text, setText] = useState("");
  const needle = text.trim().toLocaleLowerCase();
  const found = assets.filter((asset) => nameOf(asset).toLocaleLowerCase().includes(needle));
  return (
    <Dialog title={words.removeTitle(name)} isOpen onClose={onClose}>
      <div className="picker">
        <StaleNotice read={read} />
        <OptionPicker
          filterLabel={words.filter}
          listLabel={words.list}
          text={text}
          onText={setText}
          options={found.map((asset) => ({
            id: asset.urn,
            label: nameOf(asset),
            hint: contextOf(asset),
          }))}
          onPick={(picked) => {
            const asset = found.find((candidate) => candidate.urn === picked);
            if (asset !== undefined) onPick(asset);
          }}
        />
        {read.data === undefined && <LoadingOrError read={read} lines={2} />}
        {read.data !== undefined && found.length === 0 && (
          <p className="hint">{words.noMatch(text.trim())}</p>
        )}
        {error !== null && <ErrorMessage error={error} />}
      </div>
    </Dialog>
  );
}

/** What a data product contains. */
export function useAssets(urn: string) {
  const read = useApiQuery(ProductAssetsDocument, { urn });
  const results = read.data?.listDataProductAssets?.searchResults ?? [];
  return { assets: results.map(({ entity }) => entity), read };
}
