// Everything that can be done to a domain, each with a look at what it touches before it is done.

import { useState, type FormEvent } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { cache, useChange, useMe, useRead } from "../api/cache.ts";
import { run } from "../api/client.ts";
import { Dialog } from "../components/dialog.tsx";
import { focusAtFirst } from "../components/focus.ts";
import { Sentence } from "../components/sentence.tsx";
import { Awaited, Outdated, Problem } from "../components/states.tsx";
import type { Forest, Tree } from "../forest.ts";
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
  | { readonly kind: "create"; readonly parent: Tree | null }
  | { readonly kind: "rename"; readonly tree: Tree }
  | { readonly kind: "move"; readonly tree: Tree; readonly target?: Tree | null }
  | { readonly kind: "delete"; readonly tree: Tree };

interface DialogsProperties {
  readonly action: DomainAction | null;
  readonly forest: Forest;
  readonly onClose: () => void;
  readonly onCreated?: (urn: string) => void;
  readonly onDeleted?: () => void;
}

export function DomainDialogs({ action, forest, onClose, onCreated, onDeleted }: DialogsProperties) {
  if (action === null) return null;
  switch (action.kind) {
    case "create":
      return <CreateDialog parent={action.parent} forest={forest} onClose={onClose} onCreated={onCreated} />;
    case "rename":
      return <RenameDialog tree={action.tree} forest={forest} onClose={onClose} />;
    case "move":
      return <MoveDialog tree={action.tree} target={action.target} onClose={onClose} forest={forest} />;
    case "delete":
      return <DeleteDialog tree={action.tree} onClose={onClose} {...(onDeleted === undefined ? {} : { onDeleted })} />;
  }
}

const siblings = (forest: Forest, parent: Tree | null) => (parent === null ? forest.roots : parent.children);

/** What is wrong with a name, if anything. */
function nameProblem(name: string, others: readonly Tree[]): string | null {
  if (name.trim() === "") return texts.domains.nameMissing;
  return others.some((other) => other.name === name.trim()) ? texts.domains.nameTaken(name.trim()) : null;
}

function CreateDialog({
  parent,
  forest,
  onClose,
  onCreated,
}: {
  readonly parent: Tree | null;
  readonly forest: Forest;
  readonly onClose: () => void;
  readonly onCreated: ((urn: string) => void) | undefined;
}) {
  const create = useChange(CreateDomainDocument);
  const [problem, setProblem] = useState<string | null>(null);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const name = String(form.get("name")).trim();
    const description = String(form.get("description")).trim();
    const wrong = nameProblem(name, siblings(forest, parent));
    setProblem(wrong);
    if (wrong !== null) return;
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
        <NameField problem={problem} others={siblings(forest, parent)} />
        <label>
          <span>
            {texts.domains.description} <span className="hint">{texts.domains.optional}</span>
          </span>
          <textarea name="description" rows={4} />
        </label>
        {create.error !== null && <Problem error={create.error} />}
        <Feet onClose={onClose} label={texts.domains.createDo} isBusy={create.isPending} />
      </form>
    </Dialog>
  );
}

function RenameDialog({
  tree,
  forest,
  onClose,
}: {
  readonly tree: Tree;
  readonly forest: Forest;
  readonly onClose: () => void;
}) {
  const rename = useChange(RenameDomainDocument);
  const others = siblings(forest, tree.parent).filter((other) => other.urn !== tree.urn);
  const [problem, setProblem] = useState<string | null>(null);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get("name")).trim();
    const wrong = nameProblem(name, others);
    setProblem(wrong);
    if (wrong === null) rename.mutate({ urn: tree.urn, name }, { onSuccess: onClose });
  };
  return (
    <Dialog title={texts.domains.renameTitle(tree.name)} isOpen onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <NameField problem={problem} others={others} value={tree.name} />
        <p className="hint">{texts.domains.renamePreview(tree.direct, tree.children.length)}</p>
        {rename.error !== null && <Problem error={rename.error} />}
        <Feet onClose={onClose} label={texts.domains.renameDo} isBusy={rename.isPending} />
      </form>
    </Dialog>
  );
}

interface MoveProperties {
  readonly tree: Tree;
  /** Where to; asked for when it is not known. */
  readonly target: Tree | null | undefined;
  readonly forest: Forest;
  readonly onClose: () => void;
}

function MoveDialog({ tree, target, forest, onClose }: MoveProperties) {
  const [chosen, setChosen] = useState<Tree | null | undefined>(target);
  const move = useChange(MoveDomainDocument);
  const me = useMe();
  const mayHaveTop = tree.parent !== null && me.data?.me?.platformPrivileges.manageDomains === true;
  if (chosen === undefined) {
    const toTop = { label: texts.domainPicker.top, onPick: () => setChosen(null) };
    return (
      <DomainPicker
        title={texts.domains.moveTitle(tree.name)}
        isOpen
        onClose={onClose}
        current={tree.parent?.urn}
        without={tree.urn}
        onPick={(urn) => setChosen(forest.byUrn.get(urn) ?? null)}
        mayPick={(target) => target.canManageChildren}
        none={mayHaveTop ? toTop : undefined}
      />
    );
  }
  const isSame = (chosen?.urn ?? null) === (tree.parent?.urn ?? null);
  return (
    <Dialog title={texts.domains.moveTitle(tree.name)} isOpen onClose={onClose}>
      <p>
        <Sentence text={texts.domains.moveTo} parts={{ place: <strong>{chosen?.name ?? texts.domains.top}</strong> }} />
      </p>
      <p className="hint">{isSame ? texts.domains.moveSame : texts.domains.movePreview(tree.below, tree.recursive)}</p>
      {move.error !== null && <Problem error={move.error} />}
      <div className="dialog-feet">
        <button type="button" ref={isSame ? focusAtFirst : undefined} onClick={onClose}>
          {texts.domains.cancel}
        </button>
        <button
          type="button"
          className="primary"
          ref={isSame ? undefined : focusAtFirst}
          disabled={isSame || move.isPending}
          onClick={() => move.mutate({ urn: tree.urn, parent: chosen?.urn ?? null }, { onSuccess: onClose })}
        >
          {texts.domains.moveDo}
        </button>
      </div>
    </Dialog>
  );
}

const SHOWN_MEMBERS = 5;

function DeleteDialog({
  tree,
  onClose,
  onDeleted,
}: {
  readonly tree: Tree;
  readonly onClose: () => void;
  readonly onDeleted?: () => void;
}) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const filters = [{ and: [{ field: "domains", values: [tree.urn] }] }];
  const members = useRead(DomainDatasetsDocument, { filters, start: 0, count: SHOWN_MEMBERS });
  const isBlocked = tree.children.length > 0;
  const found = members.data?.searchAcrossEntities;
  const submit = async () => {
    setBusy(true);
    setError(null);
    try {
      await run(DeleteDomainDocument, { urn: tree.urn });
    } catch (problem) {
      setError(problem as Error);
      setBusy(false);
      return;
    }
    // The page of the domain is left before everything is read anew: it would ask for what is no longer there.
    onClose();
    onDeleted?.();
    await cache.invalidateQueries();
  };
  return (
    <Dialog title={texts.domains.deleteTitle(tree.name)} isOpen onClose={onClose}>
      {isBlocked && <p>{texts.domains.deleteBlocked(tree.children.length)}</p>}
      {!isBlocked && members.data === undefined && <Awaited read={members} lines={2} />}
      {!isBlocked && <Outdated read={members} />}
      {!isBlocked && found !== undefined && found !== null && (
        <>
          <p>{texts.domains.deletePreview(found.total)}</p>
          {found.total > 0 && (
            <>
              {found.total > found.searchResults.length && <p className="hint">{texts.domains.deleteSome}</p>}
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
      {error !== null && <Problem error={error} />}
      <div className="dialog-feet">
        <button type="button" onClick={onClose}>
          {texts.domains.cancel}
        </button>
        <button
          type="button"
          className="dangerous"
          disabled={isBlocked || !members.isSuccess || isBusy}
          onClick={() => void submit()}
        >
          {texts.domains.deleteDo}
        </button>
      </div>
    </Dialog>
  );
}

interface NameProperties {
  readonly problem: string | null;
  /** What stands in the same place. */
  readonly others: readonly Tree[];
  readonly value?: string;
}

function NameField({ problem, others, value }: NameProperties) {
  const [typed, setTyped] = useState("");
  const wanted = typed.trim().toLocaleLowerCase();
  const alike = others.find((other) => other.name.toLocaleLowerCase() === wanted && other.name !== typed.trim());
  return (
    <label>
      {texts.domains.name}
      <input
        name="name"
        defaultValue={value}
        onChange={(event) => setTyped(event.target.value)}
        ref={focusAtFirst}
        aria-invalid={problem !== null}
        aria-describedby="name-problem"
      />
      <span id="name-problem" className="field-problem" role="alert">
        {problem}
      </span>
      <span className="hint warning" role="status">
        {alike !== undefined && texts.domains.nameAlike(alike.name)}
      </span>
    </label>
  );
}

function Feet({
  onClose,
  label,
  isBusy,
}: {
  readonly onClose: () => void;
  readonly label: string;
  readonly isBusy: boolean;
}) {
  return (
    <div className="dialog-feet">
      <button type="button" onClick={onClose}>
        {texts.domains.cancel}
      </button>
      <button type="submit" className="primary" disabled={isBusy}>
        {label}
      </button>
    </div>
  );
}
