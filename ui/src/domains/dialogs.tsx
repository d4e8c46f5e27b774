// Dialogs to create, rename, move and delete a domain. Each previews what the change affects.

import { useState, type FormEvent } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiMutation, useMe, useApiQuery } from "../api/cache.ts";
import { run } from "../api/client.ts";
import { DeleteDialog } from "../components/delete_dialog.tsx";
import { Dialog } from "../components/dialog.tsx";
import { DescriptionField, DialogActions, NameField } from "../components/form_dialog.tsx";
import { MoveConfirmation } from "../components/move_confirmation.tsx";
import { LoadingOrError, StaleNotice, ErrorMessage } from "../components/states.tsx";
import type { DomainHierarchy, DomainNode } from "../domain_hierarchy.ts";
import {
  CreateDomainDocument,
  DeleteDomainDocument,
  DomainDatasetsDocument,
  MoveDomainDocument,
  RenameDomainDocument,
} from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { texts } from "../texts.ts";
import { DomainPicker } from "./picker.tsx";

export type DomainAction =
  | { readonly kind: "create"; readonly parent: DomainNode | null }
  | { readonly kind: "rename"; readonly node: DomainNode }
  | { readonly kind: "move"; readonly node: DomainNode; readonly target?: DomainNode | null }
  | { readonly kind: "delete"; readonly node: DomainNode };

interface DialogsProperties {
  readonly action: DomainAction | null;
  readonly hierarchy: DomainHierarchy;
  readonly onClose: () => void;
  readonly onCreated?: (urn: string) => void;
  readonly onDeleted?: () => void;
}

export function DomainDialogs({
  action,
  hierarchy,
  onClose,
  onCreated,
  onDeleted,
}: DialogsProperties) {
  if (action === null) return null;
  switch (action.kind) {
    case "create":
      return (
        <CreateDialog
          parent={action.parent}
          hierarchy={hierarchy}
          onClose={onClose}
          onCreated={onCreated}
        />
      );
    case "rename":
      return <RenameDialog node={action.node} hierarchy={hierarchy} onClose={onClose} />;
    case "move":
      return (
        <MoveDialog
          node={action.node}
          target={action.target}
          onClose={onClose}
          hierarchy={hierarchy}
        />
      );
    case "delete":
      return <DeleteDomainDialog node={action.node} onClose={onClose} onDeleted={onDeleted} />;
  }
}

const siblings = (hierarchy: DomainHierarchy, parent: DomainNode | null) =>
  parent === null ? hierarchy.roots : parent.children;

/** Validates a name and returns the error message, if any. */
function nameError(name: string, others: readonly DomainNode[]): string | null {
  if (name.trim() === "") return texts.domains.nameMissing;
  return others.some((other) => other.name === name.trim())
    ? texts.domains.nameTaken(name.trim())
    : null;
}

/** Warns about a name that differs from another only in case. */
const similarTo = (others: readonly DomainNode[]) => (name: string) => {
  const folded = name.toLocaleLowerCase();
  const similar = others.find(
    (other) => other.name.toLocaleLowerCase() === folded && other.name !== name,
  );
  return similar === undefined ? null : texts.domains.nameSimilar(similar.name);
};

function CreateDialog({
  parent,
  hierarchy,
  onClose,
  onCreated,
}: {
  readonly parent: DomainNode | null;
  readonly hierarchy: DomainHierarchy;
  readonly onClose: () => void;
  readonly onCreated: ((urn: string) => void) | undefined;
}) {
  const create = useApiMutation(CreateDomainDocument);
  const [invalid, setInvalid] = useState<string | null>(null);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const name = String(form.get("name")).trim();
    const description = String(form.get("description")).trim();
    const error = nameError(name, siblings(hierarchy, parent));
    setInvalid(error);
    if (error !== null) return;
    create.mutate(
      { name, description: description === "" ? null : description, parent: parent?.urn ?? null },
      {
        onSuccess: ({ createDomain: urn }) => {
          onClose();
          if (typeof urn === "string") onCreated?.(urn);
        },
      },
    );
  };
  return (
    <Dialog title={texts.domains.createTitle(parent?.name ?? null)} isOpen onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <NameField error={invalid} warningOf={similarTo(siblings(hierarchy, parent))} />
        <DescriptionField />
        {create.error !== null && <ErrorMessage error={create.error} />}
        <DialogActions
          onClose={onClose}
          label={texts.domains.createButton}
          isBusy={create.isPending}
        />
      </form>
    </Dialog>
  );
}

function RenameDialog({
  node,
  hierarchy,
  onClose,
}: {
  readonly node: DomainNode;
  readonly hierarchy: DomainHierarchy;
  readonly onClose: () => void;
}) {
  const rename = useApiMutation(RenameDomainDocument);
  const others = siblings(hierarchy, node.parent).filter((other) => other.urn !== node.urn);
  const [invalid, setInvalid] = useState<string | null>(null);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get("name")).trim();
    const error = nameError(name, others);
    setInvalid(error);
    if (error === null) rename.mutate({ urn: node.urn, name }, { onSuccess: onClose });
  };
  return (
    <Dialog title={texts.domains.renameTitle(node.name)} isOpen onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <NameField error={invalid} warningOf={similarTo(others)} value={node.name} />
        <p className="hint">
          {texts.domains.renamePreview(node.directDatasets, node.children.length)}
        </p>
        {rename.error !== null && <ErrorMessage error={rename.error} />}
        <DialogActions
          onClose={onClose}
          label={texts.domains.renameButton}
          isBusy={rename.isPending}
        />
      </form>
    </Dialog>
  );
}

interface MoveProperties {
  readonly node: DomainNode;
  /** The new parent; the user picks it when undefined. */
  readonly target: DomainNode | null | undefined;
  readonly hierarchy: DomainHierarchy;
  readonly onClose: () => void;
}

function MoveDialog({ node, target, hierarchy, onClose }: MoveProperties) {
  const [destination, setDestination] = useState<DomainNode | null | undefined>(target);
  const move = useApiMutation(MoveDomainDocument);
  const me = useMe();
  const canMoveToTopLevel =
    node.parent !== null && me.data?.me?.platformPrivileges.manageDomains === true;
  if (destination === undefined) {
    const toTopLevel = { label: texts.domainPicker.topLevel, onPick: () => setDestination(null) };
    return (
      <DomainPicker
        title={texts.domains.moveTitle(node.name)}
        isOpen
        onClose={onClose}
        current={node.parent?.urn}
        excluded={node.urn}
        onPick={(urn) => setDestination(hierarchy.byUrn.get(urn) ?? null)}
        canPick={(target) => target.canManageChildren}
        none={canMoveToTopLevel ? toTopLevel : undefined}
      />
    );
  }
  const isSame = (destination?.urn ?? null) === (node.parent?.urn ?? null);
  return (
    <MoveConfirmation
      title={texts.domains.moveTitle(node.name)}
      text={texts.domains.moveTo}
      destination={destination?.name ?? texts.domains.topLevel}
      hint={
        isSame
          ? texts.domains.moveSame
          : texts.domains.movePreview(node.descendants, node.totalDatasets)
      }
      button={texts.domains.moveButton}
      isSame={isSame}
      isBusy={move.isPending}
      error={move.error}
      onMove={() =>
        move.mutate({ urn: node.urn, parent: destination?.urn ?? null }, { onSuccess: onClose })
      }
      onClose={onClose}
    />
  );
}

const SHOWN_DATASETS = 5;

function DeleteDomainDialog({
  node,
  onClose,
  onDeleted,
}: {
  readonly node: DomainNode;
  readonly onClose: () => void;
  readonly onDeleted: (() => void) | undefined;
}) {
  const filters = [{ and: [{ field: "domains", values: [node.urn] }] }];
  const datasets = useApiQuery(DomainDatasetsDocument, {
    filters,
    start: 0,
    count: SHOWN_DATASETS,
  });
  const isBlocked = node.children.length > 0;
  const found = datasets.data?.searchAcrossEntities;
  return (
    <DeleteDialog
      name={node.name}
      isReady={!isBlocked && datasets.isSuccess}
      onDelete={() => run(DeleteDomainDocument, { urn: node.urn })}
      onClose={onClose}
      onDeleted={onDeleted}
    >
      {isBlocked && <p>{texts.domains.deleteBlocked(node.children.length)}</p>}
      {!isBlocked && datasets.data === undefined && <LoadingOrError read={datasets} lines={2} />}
      {!isBlocked && <StaleNotice read={datasets} />}
      {!isBlocked && found !== undefined && found !== null && (
        <>
          <p>{texts.domains.deletePreview(found.total)}</p>
          {found.total > 0 && (
            <>
              {found.total > found.searchResults.length && (
                <p className="hint">{texts.domains.deleteExamples}</p>
              )}
              <ul>
                {found.searchResults.map(({ entity }) =>
                  "urn" in entity ? (
                    <li key={entity.urn}>
                      <Link href={addresses.dataset(entity.urn)}>{nameOf(entity)}</Link>
                    </li>
                  ) : null,
                )}
              </ul>
            </>
          )}
        </>
      )}
    </DeleteDialog>
  );
}
