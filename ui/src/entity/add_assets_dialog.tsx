import { useState } from "react";

import { useProposableMutation } from "../api/cache.ts";
import { readStates } from "../bulk/entity_state.ts";
import { Dialog } from "../components/dialog.tsx";
import { EntityPicker, type Candidate } from "../components/entity_picker.tsx";
import { AddTagDocument, AddTermDocument, SetDomainDocument } from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { texts } from "../texts.ts";
import { ASSET_TYPES } from "./asset_types.ts";

export type LabelType = "TAG" | "GLOSSARY_TERM" | "DOMAIN";

interface Properties {
  readonly type: LabelType;
  readonly urn: string;
  readonly name: string;
  readonly onClose: () => void;
}

/** An asset that is in another domain. */
interface Move {
  readonly asset: Candidate;
  readonly from: string;
}

/** Picks assets one after another. */
export function AddAssetsDialog({ type, urn, name, onClose }: Properties) {
  const words = texts.entity.assets;
  const addLabel = useProposableMutation<unknown, { urn: string; label: string }>(
    type === "TAG" ? AddTagDocument : AddTermDocument,
  );
  const setDomain = useProposableMutation(SetDomainDocument);
  const [added, setAdded] = useState<ReadonlySet<string>>(new Set());
  const [report, setReport] = useState("");
  const [move, setMove] = useState<Move | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const isBusy = addLabel.isPending || setDomain.isPending;
  const write = (asset: Candidate) => {
    const done = {
      onSuccess: (isProposed: boolean) => {
        setAdded((before) => new Set(before).add(asset.urn));
        setReport((isProposed ? words.proposed : words.added)(nameOf(asset)));
      },
    };
    setMove(null);
    if (type === "DOMAIN") setDomain.mutate({ urn: asset.urn, domain: urn }, done);
    else addLabel.mutate({ urn: asset.urn, label: urn }, done);
  };
  const add = async (asset: Candidate) => {
    setError(null);
    setMove(null);
    if (type !== "DOMAIN") return write(asset);
    try {
      const { byUrn, names } = await readStates([asset.urn], new AbortController().signal);
      const domain = byUrn.get(asset.urn)?.values.domain ?? null;
      // An asset is in one domain: the other one is replaced.
      if (domain === null || domain === urn) write(asset);
      else setMove({ asset, from: names.get(domain) ?? domain });
    } catch (caught) {
      setError(caught instanceof Error ? caught : new Error(String(caught)));
    }
  };
  return (
    <Dialog title={words.addTitle(name)} isOpen onClose={onClose}>
      <EntityPicker
        types={[...ASSET_TYPES]}
        words={words}
        chosen={added}
        error={error ?? addLabel.error ?? setDomain.error}
        onPick={(asset) => !isBusy && void add(asset)}
      />
      {move !== null && (
        <div className="notice" role="alert">
          <p>{words.move(nameOf(move.asset), move.from, name)}</p>
          <div className="editor-actions">
            <button type="button" onClick={() => write(move.asset)}>
              {words.moveButton}
            </button>
            <button type="button" onClick={() => setMove(null)}>
              {words.keep}
            </button>
          </div>
        </div>
      )}
      <p className="hint" role="status">
        {report === "" ? words.hint : report}
      </p>
    </Dialog>
  );
}
