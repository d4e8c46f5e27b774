import { useRef, useState } from "react";

import { useChange } from "../api/cache.ts";
import { isMissing } from "../api/client.ts";
import { useFocusKept } from "../components/focus.ts";
import { isSafeAddress } from "../components/markdown.tsx";
import { SectionHead } from "../components/sections.tsx";
import { Stamp } from "../components/small.tsx";
import { Problem } from "../components/states.tsx";
import { hasTyped, mayDiscard } from "../components/unsaved.ts";
import { AddLinkDocument, RemoveLinkDocument, UpdateLinkDocument, type DatasetQuery } from "../generated/operations.ts";
import { texts } from "../texts.ts";
import { LinkForm, type LinkText } from "./link_form.tsx";

type Dataset = NonNullable<DatasetQuery["dataset"]>;
type LinkElement = NonNullable<Dataset["institutionalMemory"]>["elements"][number];

interface LinksProperties {
  readonly urn: string;
  readonly links: readonly LinkElement[];
  readonly canEdit: boolean;
}

/** A link is known by what it says: another reading of the list has other objects in it. */
const isSame = (one: LinkText, other: LinkText) => one.url === other.url && one.label === other.label;
const keyOf = (link: LinkText) => `${link.url} ${link.label}`;

/** Pages elsewhere that say more. */
export function Links({ urn, links, canEdit }: LinksProperties) {
  /** The link that is being edited, as it was when that began; "new" for one that is to be added. */
  const [edited, setEdited] = useState<LinkText | "new" | null>(null);
  /** What it is to become, until it is: the list may have it before the answer has come. */
  const [sent, setSent] = useState<LinkText | null>(null);
  const [removed, setRemoved] = useState<LinkText | null>(null);
  /** The link that was last edited, as it is and as it was: the focus goes there when its form disappears. */
  const latest = useRef<readonly LinkText[]>([]);
  const section = useRef<HTMLElement>(null);
  const add = useChange(AddLinkDocument);
  const update = useChange(UpdateLinkDocument);
  const remove = useChange(RemoveLinkDocument);

  /** Begins with another link, or with none, unless a text would be lost that the person wants to keep. */
  const edit = (link: LinkText | "new" | null): boolean => {
    if (section.current !== null && hasTyped(section.current) && !mayDiscard()) return false;
    for (const change of [add, update, remove]) change.reset();
    if (link !== null) latest.current = link === "new" ? [] : [link];
    setRemoved(null);
    setSent(null);
    setEdited(link);
    return true;
  };
  const takeAway = (link: LinkText) => {
    if (!edit(null)) return;
    latest.current = [];
    remove.mutate({ urn, url: link.url, label: link.label }, { onSuccess: () => setRemoved(link) });
  };
  const bringBack = (link: LinkText) =>
    add.mutate({ urn, url: link.url, label: link.label }, { onSuccess: () => setRemoved(null) });

  const isBusy = add.isPending || update.isPending;
  const place = links.findIndex(
    (link) => (edited !== null && edited !== "new" && isSame(link, edited)) || (sent !== null && isSame(link, sent)),
  );
  /** Somebody else has changed or removed the link: what the person writes stays, as a link of its own. */
  const isGone = edited !== null && edited !== "new" && place === -1 && sent === null;
  const save = ({ url, label }: LinkText) => {
    const done = {
      onSuccess: () => {
        if (latest.current.length > 0) latest.current = [{ url, label }, ...latest.current];
        setSent(null);
        setEdited(null);
      },
      onError: () => setSent(null),
    };
    setSent({ url, label });
    if (edited === "new" || isGone) add.mutate({ urn, url, label }, done);
    else if (edited !== null) {
      update.mutate({ urn, currentUrl: edited.url, currentLabel: edited.label, url, label }, done);
    }
  };
  useFocusKept(section, () => {
    const buttons = [...(section.current?.querySelectorAll("button") ?? [])];
    const ofLinks = latest.current.flatMap((link) => buttons.filter(({ dataset }) => dataset["edits"] === keyOf(link)));
    return ofLinks[0] ?? buttons.find((button) => "adds" in button.dataset);
  });
  // Always under the same key, wherever it stands: a form that is made anew has lost its text.
  const form = edited !== null && (
    <li key="edited">
      <LinkForm
        {...(edited === "new" ? {} : { link: edited })}
        notice={isGone ? texts.links.gone : null}
        others={links.filter((_, other) => other !== place)}
        error={inWords(add.error ?? update.error)}
        isBusy={isBusy}
        onSave={save}
        onLeave={() => edit(null)}
      />
    </li>
  );
  const lines = links.map((link, at) =>
    edited !== null && at === place ? (
      form
    ) : (
      <LinkLine key={keyOf(link)} link={link} canEdit={canEdit} onEdit={edit} onRemove={takeAway} />
    ),
  );
  const failed = inWords(remove.error ?? add.error);

  return (
    <section className="section" aria-labelledby="links" ref={section}>
      <SectionHead title={texts.links.heading} id="links">
        {canEdit && edited === null && (
          <button type="button" className="quiet" data-adds onClick={() => edit("new")}>
            {texts.links.add}
          </button>
        )}
      </SectionHead>
      {links.length === 0 && edited === null && <p className="hint">{texts.links.none}</p>}
      <ul className="links">{place === -1 ? [...lines, form] : lines}</ul>
      {removed !== null && (
        <p className="hint" role="status">
          {texts.links.removed(removed.label)}{" "}
          <button type="button" className="quiet" onClick={() => bringBack(removed)}>
            {texts.links.undo}
          </button>
        </p>
      )}
      {edited === null && failed !== null && <Problem error={failed} />}
    </section>
  );
}

interface LineProperties {
  readonly link: LinkElement;
  readonly canEdit: boolean;
  readonly onEdit: (link: LinkText) => void;
  readonly onRemove: (link: LinkText) => void;
}

function LinkLine({ link, canEdit, onEdit, onRemove }: LineProperties) {
  return (
    <li>
      <Target link={link} />
      <Stamp actor={link.actor} time={link.created.time} />
      {canEdit && (
        <span className="link-actions">
          <button
            type="button"
            className="quiet"
            data-edits={keyOf(link)}
            aria-label={texts.links.edit(link.label)}
            onClick={() => onEdit(link)}
          >
            {texts.links.editShort}
          </button>
          <button
            type="button"
            className="quiet"
            aria-label={texts.links.remove(link.label)}
            onClick={() => onRemove(link)}
          >
            {texts.links.removeShort}
          </button>
        </span>
      )}
    </li>
  );
}

/** Everything that can be said before was looked at before, so what the server refuses was changed by somebody else. */
function inWords(error: Error | null): Error | null {
  return error !== null && isMissing(error) ? new Error(texts.links.changedMeanwhile) : error;
}

/** Whatever is stored may be shown, but only harmless addresses can be followed. */
function Target({ link }: { readonly link: LinkElement }) {
  if (!isSafeAddress(link.url)) {
    return (
      <span title={texts.links.unsafe}>
        {link.label} <code>{link.url}</code>
      </span>
    );
  }
  return (
    <a href={link.url} rel="noopener noreferrer nofollow" title={link.url}>
      {link.label === "" ? link.url : link.label}
    </a>
  );
}
