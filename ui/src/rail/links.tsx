import { Suspense, lazy, useRef, useState } from "react";

import { useApiMutation, useProposableMutation } from "../api/cache.ts";
import { isNotFound } from "../api/client.ts";
import { loadChunk } from "../components/chunks.ts";
import { useFocusFallback } from "../components/focus.ts";
import { LinkTarget } from "../components/link_target.tsx";
import { Byline } from "../components/common.tsx";
import { ErrorMessage } from "../components/states.tsx";
import { confirmDiscard } from "../components/discard_question.ts";
import { hasFormChanges } from "../components/unsaved.ts";
import {
  AddLinkDocument,
  RemoveLinkDocument,
  UpdateLinkDocument,
  type LinksPartFragment,
} from "../generated/operations.ts";
import { IconButton } from "../icons/icon_button.tsx";
import { wordsFor, type Right } from "../privileges.ts";
import { PendingMark } from "../proposals/pending.tsx";
import { proposingTexts } from "../proposing_texts.ts";
import { texts } from "../texts.ts";
import type { LinkInput } from "./link_form.tsx";

const LinkForm = lazy(async () => ({
  default: (await loadChunk(import("./link_form.tsx"))).LinkForm,
}));

type LinkElement = LinksPartFragment["elements"][number];

interface LinksProperties {
  readonly urn: string;
  readonly links: readonly LinkElement[];
  readonly right: Right;
}

/** Links are compared by value, because every refresh creates new objects. */
const isSame = (left: LinkInput, right: LinkInput) =>
  left.url === right.url && left.label === right.label;
const keyOf = (link: LinkInput) => `${link.url} ${link.label}`;

/** The links of an entity to external pages. */
export function Links({ urn, links, right }: LinksProperties) {
  const words = wordsFor(right, texts.links, proposingTexts.links);
  const canEdit = right !== "none";
  /** The link being edited, as it was at the start; "new" for a link to add. */
  const [editing, setEditing] = useState<LinkInput | "new" | null>(null);
  /** The new value while it is being saved: the list may contain it before the response arrives. */
  const [sent, setSent] = useState<LinkInput | null>(null);
  const [removed, setRemoved] = useState<LinkInput | null>(null);
  /** The new and old value of the link last edited, which gets the focus when the form closes. */
  const latest = useRef<readonly LinkInput[]>([]);
  const section = useRef<HTMLElement>(null);
  const add = useApiMutation(AddLinkDocument);
  const update = useApiMutation(UpdateLinkDocument);
  const remove = useProposableMutation(RemoveLinkDocument);

  /** Opens the form for a link, or closes it, unless the user wants to keep unsaved text. */
  const edit = async (link: LinkInput | "new" | null): Promise<boolean> => {
    const isChanged = section.current !== null && hasFormChanges(section.current);
    if (isChanged && !(await confirmDiscard())) return false;
    for (const change of [add, update, remove]) change.reset();
    if (link !== null) latest.current = link === "new" ? [] : [link];
    setRemoved(null);
    setSent(null);
    setEditing(link);
    return true;
  };
  const removeLink = async (link: LinkInput) => {
    if (!(await edit(null))) return;
    latest.current = [];
    remove.mutate(
      { urn, url: link.url, label: link.label },
      { onSuccess: (isProposed) => setRemoved(isProposed ? null : link) },
    );
  };
  const undoRemove = (link: LinkInput) =>
    add.mutate({ urn, url: link.url, label: link.label }, { onSuccess: () => setRemoved(null) });

  const isBusy = add.isPending || update.isPending;
  const index = links.findIndex(
    (link) =>
      (editing !== null && editing !== "new" && isSame(link, editing)) ||
      (sent !== null && isSame(link, sent)),
  );
  /** Someone else has changed or removed the link, so saving adds a new one. */
  const isConflict = editing !== null && editing !== "new" && index === -1 && sent === null;
  const save = ({ url, label }: LinkInput) => {
    const done = {
      onSuccess: () => {
        if (latest.current.length > 0) latest.current = [{ url, label }, ...latest.current];
        setSent(null);
        setEditing(null);
      },
      onError: () => setSent(null),
    };
    setSent({ url, label });
    if (editing === "new" || isConflict) add.mutate({ urn, url, label }, done);
    else if (editing !== null) {
      update.mutate(
        { urn, currentUrl: editing.url, currentLabel: editing.label, url, label },
        done,
      );
    }
  };
  useFocusFallback(section, () => {
    const buttons = [...(section.current?.querySelectorAll("button") ?? [])];
    const ofLinks = latest.current.flatMap((link) =>
      buttons.filter(({ dataset }) => dataset["editLink"] === keyOf(link)),
    );
    return ofLinks[0] ?? buttons.find((button) => "addLink" in button.dataset);
  });
  // Always the same key: remounting the form would lose its text.
  const form = editing !== null && (
    <li key="form">
      <Suspense>
        <LinkForm
          {...(editing === "new" ? {} : { link: editing })}
          saveLabel={words.save}
          notice={isConflict ? texts.links.conflict : null}
          others={links.filter((_, other) => other !== index)}
          error={describeConflict(add.error ?? update.error)}
          isBusy={isBusy}
          onSave={save}
          onCancel={() => void edit(null)}
        />
      </Suspense>
    </li>
  );
  const items = links.map((link, position) =>
    editing !== null && position === index ? (
      form
    ) : (
      <LinkItem
        key={keyOf(link)}
        link={link}
        right={right}
        onEdit={(edited) => void edit(edited)}
        onRemove={(removedLink) => void removeLink(removedLink)}
      />
    ),
  );
  const failed = describeConflict(remove.error ?? add.error);

  return (
    <section aria-labelledby="links" ref={section}>
      <div className="rail-heading">
        <h2 id="links">{texts.links.heading}</h2>
        {canEdit && editing === null && (
          <IconButton
            icon="add"
            label={words.add}
            data-add-link=""
            onClick={() => void edit("new")}
          />
        )}
      </div>
      {links.length === 0 && editing === null && <p className="hint">{texts.links.none}</p>}
      <ul className="links">{index === -1 ? [...items, form] : items}</ul>
      <PendingMark urn={urn} part="links" />
      {/* A proposed removal leaves the link in the list. */}
      {removed !== null && !links.some((link) => isSame(link, removed)) && (
        <p className="hint" role="status">
          {texts.links.removed(removed.label)}{" "}
          <button type="button" className="subtle" onClick={() => undoRemove(removed)}>
            {texts.common.undo}
          </button>
        </p>
      )}
      {editing === null && failed !== null && <ErrorMessage error={failed} />}
    </section>
  );
}

interface LinkItemProperties {
  readonly link: LinkElement;
  readonly right: Right;
  readonly onEdit: (link: LinkInput) => void;
  readonly onRemove: (link: LinkInput) => void;
}

function LinkItem({ link, right, onEdit, onRemove }: LinkItemProperties) {
  const words = wordsFor(right, texts.links, proposingTexts.links);
  return (
    <li>
      <LinkTarget link={link} />
      <Byline
        actor={link.actor}
        time={link.created.time}
        by={texts.links.addedBy}
        at={texts.links.addedAt}
      />
      {right !== "none" && (
        <span className="link-actions">
          <IconButton
            icon="edit"
            className="quiet"
            data-edit-link={keyOf(link)}
            label={words.edit(link.label)}
            hint={words.editShort}
            onClick={() => onEdit(link)}
          />
          <IconButton
            icon="remove"
            className="quiet"
            label={words.remove(link.label)}
            hint={words.removeShort}
            onClick={() => onRemove(link)}
          />
        </span>
      )}
    </li>
  );
}

/** The form validates its input, so "not found" means that someone else changed the link. */
function describeConflict(error: Error | null): Error | null {
  return error !== null && isNotFound(error) ? new Error(texts.links.notSaved) : error;
}
