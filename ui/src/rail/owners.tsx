import { useState } from "react";

import { useApiQuery, useProposableMutation } from "../api/cache.ts";
import { Avatar } from "../components/avatar.tsx";
import { EntityLink } from "../components/common.tsx";
import { Dialog } from "../components/dialog.tsx";
import { EntityPicker } from "../components/entity_picker_on_demand.tsx";
import { UndoNotice, useUndo } from "../components/undo.tsx";
import {
  AddOwnerDocument,
  OwnershipTypesDocument,
  RemoveOwnerDocument,
  type OwnerEntryFragment,
} from "../generated/operations.ts";
import { Icon } from "../icons/icon.tsx";
import { nameOf, type Nameable } from "../names.ts";
import { wordsFor, type Right } from "../privileges.ts";
import { PendingMark } from "../proposals/pending.tsx";
import { proposingTexts } from "../proposing_texts.ts";
import { texts } from "../texts.ts";
import { RailSection } from "./section.tsx";

const DEFAULT_KIND = "urn:li:ownershipType:__system__technical_owner";

const isGroup = (urn: string) => urn.startsWith("urn:li:corpGroup:");

/** The owners of an entity with the kind of their ownership. */
export function Owners({
  urn,
  owners,
  right,
}: {
  readonly urn: string;
  readonly owners: readonly OwnerEntryFragment[];
  readonly right: Right;
}) {
  const words = wordsFor(right, texts.rail.owners, proposingTexts.owners);
  const canEdit = right !== "none";
  const [isAdding, setAdding] = useState(false);
  const [kind, setKind] = useState(DEFAULT_KIND);
  const add = useProposableMutation(AddOwnerDocument);
  const remove = useProposableMutation(RemoveOwnerDocument);
  const { last, report, clear } = useUndo();
  const change = (
    owner: Nameable & { readonly urn: string },
    ownershipType: string | undefined,
    isRemoved: boolean,
  ) => {
    add.reset();
    remove.reset();
    const done = {
      onSuccess: (isProposed: boolean) => {
        setAdding(false);
        // The shell tells that the change waits for a decision.
        if (isProposed) return clear();
        const text = (isRemoved ? words.removed : words.added)(nameOf(owner));
        report(text, () => change(owner, ownershipType, !isRemoved));
      },
    };
    if (isRemoved) {
      remove.mutate({ urn, owner: owner.urn, ownershipType: ownershipType ?? null }, done);
    } else {
      const ownerType = isGroup(owner.urn) ? "CORP_GROUP" : "CORP_USER";
      add.mutate(
        { urn, owner: owner.urn, ownerType, ownershipType: ownershipType ?? DEFAULT_KIND },
        done,
      );
    }
  };
  const isBusy = add.isPending || remove.isPending;
  const open = () => {
    add.reset();
    setAdding(true);
  };
  const ofKind = owners.filter((entry) => entry.ownershipType?.urn === kind);
  return (
    <RailSection
      id="owners"
      heading={words.heading}
      add={canEdit ? { label: words.add, onClick: open } : undefined}
    >
      {owners.length === 0 && <p className="hint">{words.none}</p>}
      <ul className="owner-list">
        {owners.map(({ owner, ownershipType }) => (
          <li key={`${owner.urn} ${ownershipType?.urn}`}>
            <Avatar actor={owner} />
            <span className="owner-name">
              <EntityLink entity={owner} />
              <span className="hint">{ownershipType?.info?.name}</span>
              <Mail actor={owner} />
            </span>
            {canEdit && (
              <button
                type="button"
                className="chip-remove"
                disabled={isBusy}
                aria-label={words.remove(nameOf(owner))}
                onClick={() => change(owner, ownershipType?.urn, true)}
              >
                <Icon name="close" />
              </button>
            )}
          </li>
        ))}
      </ul>
      <PendingMark urn={urn} part="owners" />
      <UndoNotice
        last={last}
        isBusy={isBusy}
        error={isAdding ? null : (add.error ?? remove.error)}
      />
      {isAdding && (
        <Dialog title={words.addTitle} isOpen onClose={() => setAdding(false)}>
          <OwnershipKind kind={kind} onChange={setKind} />
          <EntityPicker
            types={["CORP_USER", "CORP_GROUP"]}
            words={words}
            chosen={new Set(ofKind.map(({ owner }) => owner.urn))}
            hintOf={(entity) => (isGroup(entity.urn) ? words.group : undefined)}
            error={add.error}
            onPick={(owner) => !isBusy && change(owner, kind, false)}
          />
        </Dialog>
      )}
    </RailSection>
  );
}

/** The address of a person who has one. */
function Mail({ actor }: { readonly actor: OwnerEntryFragment["owner"] }) {
  const mail = "username" in actor ? actor.properties?.email : undefined;
  if (mail === null || mail === undefined || mail === "") return null;
  return (
    <a className="owner-mail" href={`mailto:${mail}`}>
      {mail}
    </a>
  );
}

function OwnershipKind({
  kind,
  onChange,
}: {
  readonly kind: string;
  readonly onChange: (urn: string) => void;
}) {
  const read = useApiQuery(OwnershipTypesDocument, {});
  const types = read.data?.listOwnershipTypes.ownershipTypes ?? [];
  if (types.length === 0) return null;
  return (
    <label className="field">
      {texts.rail.owners.kind}
      <select value={kind} onChange={(event) => onChange(event.target.value)}>
        {types.map((type) => (
          <option key={type.urn} value={type.urn}>
            {type.info?.name ?? type.urn}
          </option>
        ))}
      </select>
    </label>
  );
}
