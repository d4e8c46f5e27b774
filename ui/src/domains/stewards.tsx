import { useRef, useState } from "react";

import { useApiMutation, useMe } from "../api/cache.ts";
import { Dialog } from "../components/dialog.tsx";
import { EntityPicker } from "../components/entity_picker.tsx";
import { useFocusFallback } from "../components/focus.ts";
import { SectionHeader } from "../components/sections.tsx";
import { UndoNotice, useUndo } from "../components/undo.tsx";
import {
  AddDomainStewardDocument,
  RemoveDomainStewardDocument,
  type DomainQuery,
} from "../generated/operations.ts";
import { nameOf, type Nameable } from "../names.ts";
import { texts } from "../texts.ts";

type Domain = NonNullable<DomainQuery["domain"]>;

type Steward = Nameable & { readonly urn: string };

const isGroup = (urn: string) => urn.startsWith("urn:li:corpGroup:");

/** The users and groups that may edit everything in a domain, to change for administrators. */
export function Stewards({ domain }: { readonly domain: Domain }) {
  const canManage = useMe().data?.me?.platformPrivileges.managePolicies === true;
  const [isAdding, setAdding] = useState(false);
  const { last, report, clear } = useUndo();
  const section = useRef<HTMLElement>(null);
  const add = useApiMutation(AddDomainStewardDocument);
  const remove = useApiMutation(RemoveDomainStewardDocument);
  useFocusFallback(section, () => section.current?.querySelector("button"));
  const words = texts.stewards;
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
  const error = add.error ?? remove.error;
  const isBusy = add.isPending || remove.isPending;
  return (
    <section className="section" aria-labelledby="stewards" ref={section}>
      <SectionHeader title={words.heading} id="stewards">
        {canManage && (
          <button
            type="button"
            className="subtle"
            onClick={() => {
              add.reset();
              setAdding(true);
            }}
          >
            {words.add}
          </button>
        )}
      </SectionHeader>
      <p className="hint">{words.intro}</p>
      {stewards.length === 0 && <p className="hint">{words.none}</p>}
      <ul className="row-list narrow">
        {stewards.map((steward) => (
          <li key={steward.urn}>
            <span>
              {nameOf(steward)}
              {isGroup(steward.urn) && <span className="hint"> · {words.group}</span>}
            </span>
            {canManage && (
              <button
                type="button"
                className="subtle"
                disabled={isBusy}
                aria-label={words.removeLabel(nameOf(steward))}
                onClick={() => change(steward, true)}
              >
                {words.remove}
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
    </section>
  );
}
