import { useState } from "react";

import { useApiMutation, useMe } from "../api/cache.ts";
import { Avatar } from "../components/avatar.tsx";
import { EntityLink } from "../components/common.tsx";
import { Dialog } from "../components/dialog.tsx";
import { EntityPicker } from "../components/entity_picker.tsx";
import { UndoNotice, useUndo } from "../components/undo.tsx";
import {
  AddDomainStewardDocument,
  RemoveDomainStewardDocument,
  type DomainQuery,
} from "../generated/operations.ts";
import { Icon } from "../icons/icon.tsx";
import { nameOf, type Nameable } from "../names.ts";
import { RailSection } from "../rail/section.tsx";
import { stewardTexts } from "../steward_texts.ts";

type Domain = NonNullable<DomainQuery["domain"]>;

type Steward = Nameable & { readonly urn: string };

const isGroup = (urn: string) => urn.startsWith("urn:li:corpGroup:");

/** The users and groups that may edit everything in a domain, to change for administrators. */
export function Stewards({ domain }: { readonly domain: Domain }) {
  const canManage = useMe().data?.me?.platformPrivileges.managePolicies === true;
  const [isAdding, setAdding] = useState(false);
  const { last, report, clear } = useUndo();
  const add = useApiMutation(AddDomainStewardDocument);
  const remove = useApiMutation(RemoveDomainStewardDocument);
  const words = stewardTexts;
  const stewards = domain.stewards ?? [];
  if (!canManage && stewards.length === 0) return null;

  const change = (steward: Steward, isRemoved: boolean) => {
    clear();
    add.reset();
    remove.reset();
    const mutation = isRemoved ? remove : add;
    mutation.mutate(
      { domain: domain.urn, actor: steward.urn },
      {
        onSuccess: () => {
          setAdding(false);
          const done = isRemoved ? words.removed : words.added;
          report(done(nameOf(steward)), () => change(steward, !isRemoved));
        },
      },
    );
  };
  const open = () => {
    add.reset();
    setAdding(true);
  };
  const error = add.error ?? remove.error;
  const isBusy = add.isPending || remove.isPending;
  return (
    <RailSection
      id="stewards"
      heading={words.heading}
      add={canManage ? { label: words.add, onClick: open } : undefined}
    >
      <p className="hint">{stewards.length === 0 ? words.none : words.intro}</p>
      <ul className="owner-list">
        {stewards.map((steward) => (
          <li key={steward.urn}>
            <Avatar actor={steward} />
            <span className="owner-name">
              <EntityLink entity={steward} />
              {isGroup(steward.urn) && <span className="hint">{words.group}</span>}
            </span>
            {canManage && (
              <button
                type="button"
                className="chip-remove"
                disabled={isBusy}
                aria-label={words.remove(nameOf(steward))}
                onClick={() => change(steward, true)}
              >
                <Icon name="close" />
              </button>
            )}
          </li>
        ))}
      </ul>
      <UndoNotice last={last} isBusy={isBusy} error={isAdding ? null : error} />
      {isAdding && (
        <Dialog title={words.addTitle(nameOf(domain))} isOpen onClose={() => setAdding(false)}>
          <EntityPicker
            types={["CORP_USER", "CORP_GROUP"]}
            words={words}
            chosen={new Set(stewards.map((steward) => steward.urn))}
            hintOf={(entity) => (isGroup(entity.urn) ? words.group : undefined)}
            error={add.error}
            onPick={(steward) => !isBusy && change(steward, false)}
          />
        </Dialog>
      )}
    </RailSection>
  );
}
