import { useState } from "react";

import { useProposableMutation } from "../api/cache.ts";
import { Dialog } from "../components/dialog.tsx";
import { EntityPicker, type Candidate } from "../components/entity_picker.tsx";
import { AddTagDocument, AddTermDocument, SetDomainDocument } from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { texts } from "../texts.ts";
import { ASSET_TYPES } from "./asset_types.ts";

export type LabelType = "TAG" | "GLOSSARY_TERM" | "DOMAIN";

/** Picks assets one after another. */
export function AddAssetsDialog({
  type,
  urn,
  name,
  onClose,
}: {
  readonly type: LabelType;
  readonly urn: string;
  readonly name: string;
  readonly onClose: () => void;
}) {
  const words = texts.entity.assets;
  const addLabel = useProposableMutation<unknown, { urn: string; label: string }>(
    type === "TAG" ? AddTagDocument : AddTermDocument,
  );
  const setDomain = useProposableMutation(SetDomainDocument);
  const [added, setAdded] = useState<ReadonlySet<string>>(new Set());
  const [report, setReport] = useState("");
  const isBusy = addLabel.isPending || setDomain.isPending;
  const add = (asset: Candidate) => {
    const done = {
      onSuccess: (isProposed: boolean) => {
        setAdded((before) => new Set(before).add(asset.urn));
        setReport((isProposed ? words.proposed : words.added)(nameOf(asset)));
      },
    };
    if (type === "DOMAIN") setDomain.mutate({ urn: asset.urn, domain: urn }, done);
    else addLabel.mutate({ urn: asset.urn, label: urn }, done);
  };
  return (
    <Dialog title={words.addTitle(name)} isOpen onClose={onClose}>
      <EntityPicker
        types={[...ASSET_TYPES]}
        words={words}
        chosen={added}
        error={addLabel.error ?? setDomain.error}
        onPick={(asset) => !isBusy && add(asset)}
      />
      <p className="hint" role="status">
        {report === "" ? words.hint : report}
      </p>
    </Dialog>
  );
}
