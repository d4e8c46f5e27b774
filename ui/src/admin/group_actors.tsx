// The members and the owners of a group.

import { useRef, useState } from "react";

import { useApiMutation } from "../api/cache.ts";
import { Avatar } from "../components/avatar.tsx";
import { EntityLink } from "../components/common.tsx";
import { Dialog } from "../components/dialog.tsx";
import { EntityPicker } from "../components/entity_picker.tsx";
import { useFocusFallback } from "../components/focus.ts";
import { UndoNotice, useUndo } from "../components/undo.tsx";
import {
  AddMembersDocument,
  AddOwnerDocument,
  RemoveMembersDocument,
  RemoveOwnerDocument,
} from "../generated/operations.ts";
import { nameOf, type Nameable } from "../names.ts";
import { adminTexts } from "../admin_texts.ts";
import { texts } from "../texts.ts";
import type { GroupDetails } from "./group_editor.tsx";

type Actor = Nameable & { readonly urn: string };

/** The type that DataHub gives the owners of groups. */
const OWNERSHIP_TYPE = "urn:li:ownershipType:__system__technical_owner";

const isActor = (entity: object | null): entity is Actor => entity !== null && "urn" in entity;

function actorsOf(ends: GroupDetails["natives"]): readonly Actor[] {
  return (ends?.relationships ?? []).flatMap(({ entity }) => (isActor(entity) ? [entity] : []));
}

interface ActorsProperties {
  readonly group: GroupDetails;
  readonly canEditMembers: boolean;
  readonly canEditOwners: boolean;
}

export function GroupActors({ group, canEditMembers, canEditOwners }: ActorsProperties) {
  const words = adminTexts.groups;
  const addMembers = useApiMutation(AddMembersDocument);
  const removeMembers = useApiMutation(RemoveMembersDocument);
  const addOwner = useApiMutation(AddOwnerDocument);
  const removeOwner = useApiMutation(RemoveOwnerDocument);
  const natives = actorsOf(group.natives);
  const isNative = new Set(natives.map(({ urn }) => urn));
  const external = actorsOf(group.external).filter(({ urn }) => !isNative.has(urn));
  const owners = (group.ownership?.owners ?? []).flatMap(({ owner }) =>
    isActor(owner) ? [owner] : [],
  );
  // Undo gives a removed owner the type of before: it calls `onAdd` of the render that removed it.
  const typeOf = (actor: Actor) =>
    group.ownership?.owners?.find(({ owner }) => isActor(owner) && owner.urn === actor.urn)
      ?.ownershipType?.urn ?? OWNERSHIP_TYPE;
  return (
    <div className="group-actors">
      <ActorSection
        title={words.members}
        hint={null}
        none={words.noMembers}
        actors={natives}
        others={external}
        canEdit={canEditMembers}
        addLabel={words.addMember}
        addTitle={words.addMemberTitle(nameOf(group))}
        removeLabel={words.removeMember}
        isBusy={addMembers.isPending || removeMembers.isPending}
        error={addMembers.error ?? removeMembers.error}
        onReset={() => {
          addMembers.reset();
          removeMembers.reset();
        }}
        onAdd={(actor, onSuccess) =>
          addMembers.mutate({ group: group.urn, users: [actor.urn] }, { onSuccess })
        }
        onRemove={(actor, onSuccess) =>
          removeMembers.mutate({ group: group.urn, users: [actor.urn] }, { onSuccess })
        }
      />
      <ActorSection
        title={words.owners}
        hint={words.ownersHint}
        none={words.noOwners}
        actors={owners}
        others={[]}
        canEdit={canEditOwners}
        addLabel={words.addOwner}
        addTitle={words.addOwnerTitle(nameOf(group))}
        removeLabel={words.removeOwner}
        isBusy={addOwner.isPending || removeOwner.isPending}
        error={addOwner.error ?? removeOwner.error}
        onReset={() => {
          addOwner.reset();
          removeOwner.reset();
        }}
        onAdd={(actor, onSuccess) =>
          addOwner.mutate(
            {
              urn: group.urn,
              owner: actor.urn,
              ownerType: "CORP_USER",
              ownershipType: typeOf(actor),
            },
            { onSuccess },
          )
        }
        onRemove={(actor, onSuccess) =>
          removeOwner.mutate(
            { urn: group.urn, owner: actor.urn, ownershipType: null },
            { onSuccess },
          )
        }
      />
    </div>
  );
}

interface SectionProperties {
  readonly title: string;
  readonly hint: string | null;
  readonly none: string;
  readonly actors: readonly Actor[];
  /** Those that only an identity provider changes. */
  readonly others: readonly Actor[];
  readonly canEdit: boolean;
  readonly addLabel: string;
  readonly addTitle: string;
  readonly removeLabel: (name: string) => string;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly onReset: () => void;
  readonly onAdd: (actor: Actor, onDone: () => void) => void;
  readonly onRemove: (actor: Actor, onDone: () => void) => void;
}

function ActorSection(section: SectionProperties) {
  const words = adminTexts.groups;
  const { actors, others, canEdit, isBusy, error } = section;
  const [isAdding, setAdding] = useState(false);
  const { last, report, clear } = useUndo();
  const element = useRef<HTMLElement>(null);
  useFocusFallback(element, () => element.current?.querySelector("button"));
  const change = (actor: Actor, isRemoved: boolean) => {
    clear();
    section.onReset();
    const [run, say] = isRemoved ? [section.onRemove, words.removed] : [section.onAdd, words.added];
    run(actor, () => {
      setAdding(false);
      report(say(nameOf(actor)), () => change(actor, !isRemoved));
    });
  };
  return (
    <section aria-label={section.title} ref={element}>
      <div className="section-header">
        <h4>{section.title}</h4>
        <span className="tab-count">{texts.number(actors.length + others.length)}</span>
        {canEdit && (
          <button
            type="button"
            onClick={() => {
              section.onReset();
              setAdding(true);
            }}
          >
            {section.addLabel}
          </button>
        )}
      </div>
      {section.hint !== null && <p className="hint">{section.hint}</p>}
      {actors.length + others.length === 0 && <p className="hint">{section.none}</p>}
      <ul className="row-list">
        {actors.map((actor) => (
          <li key={actor.urn}>
            <span className="person">
              <Avatar actor={actor} />
              <EntityLink entity={actor} />
            </span>
            {canEdit && (
              <button
                type="button"
                className="subtle"
                disabled={isBusy}
                aria-label={section.removeLabel(nameOf(actor))}
                onClick={() => change(actor, true)}
              >
                {words.remove}
              </button>
            )}
          </li>
        ))}
        {others.map((actor) => (
          <li key={actor.urn}>
            <span className="person">
              <Avatar actor={actor} />
              <EntityLink entity={actor} />
            </span>
            <span className="hint">{words.externalMember}</span>
          </li>
        ))}
      </ul>
      <UndoNotice last={last} isBusy={isBusy} error={isAdding ? null : error} />
      {isAdding && (
        <Dialog title={section.addTitle} isOpen onClose={() => setAdding(false)}>
          <EntityPicker
            types={["CORP_USER"]}
            words={words}
            chosen={new Set([...actors, ...others].map(({ urn }) => urn))}
            error={error}
            onPick={(actor) => !isBusy && change(actor, false)}
          />
        </Dialog>
      )}
    </section>
  );
}
