import { Suspense, lazy, useState } from "react";

import { loadChunk } from "../components/chunks.ts";
import { texts } from "../texts.ts";
import type { LabelType } from "./add_assets_dialog.tsx";

const AddAssetsDialog = lazy(async () => ({
  default: (await loadChunk(import("./add_assets_dialog.tsx"))).AddAssetsDialog,
}));

/** Gives assets a tag, a term or a domain, from the page of that. */
export function AddAssets({
  type,
  urn,
  name,
}: {
  readonly type: LabelType;
  readonly urn: string;
  readonly name: string;
}) {
  const [isAdding, setAdding] = useState(false);
  return (
    <>
      <button type="button" className="subtle" onClick={() => setAdding(true)}>
        {texts.entity.assets.add}
      </button>
      <Suspense>
        {isAdding && (
          <AddAssetsDialog type={type} urn={urn} name={name} onClose={() => setAdding(false)} />
        )}
      </Suspense>
    </>
  );
}
