import { useState } from "react";

import { useChange } from "../api/cache.ts";
import { isMissing } from "../api/client.ts";
import { isSafeAddress } from "../components/markdown.tsx";
import { Stamp } from "../components/small.tsx";
import { Problem } from "../components/states.tsx";
import { SectionHead } from "../description/description.tsx";
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

/** Pages elsewhere that say more. */
export function Links({ urn, links, canEdit }: LinksProperties) {
  /** The link that is being edited; "new" for one that is to be added. */
  const [edited, setEdited] = useState<LinkElement | "new" | null>(null);
  const [removed, setRemoved] = useState<LinkElement | null>(null);
  const add = useChange(AddLinkDocument);
  const update = useChange(UpdateLinkDocument);
  const remove = useChange(RemoveLinkDocument);

  const edit = (link: LinkElement | "new" | null) => {
    for (const change of [add, update, remove]) change.reset();
    setRemoved(null);
    setEdited(link);
  };
  const takeAway = (link: LinkElement) => {
    edit(null);
    remove.mutate({ urn, url: link.url, label: link.label }, { onSuccess: () => setRemoved(link) });
  };
  const bringBack = (link: LinkElement) =>
    add.mutate({ urn, url: link.url, label: link.label }, { onSuccess: () => setRemoved(null) });
  const save = ({ url, label }: LinkText) => {
    const done = { onSuccess: () => setEdited(null) };
    if (edited === "new") add.mutate({ urn, url, label }, done);
    else if (edited !== null) {
      update.mutate({ urn, currentUrl: edited.url, currentLabel: edited.label, url, label }, done);
    }
  };
  const form = {
    error: inWords(add.error ?? update.error),
    isBusy: add.isPending || update.isPending,
    onSave: save,
    onLeave: () => edit(null),
  };
  const failed = inWords(remove.error ?? add.error);

  return (
    <section className="section" aria-labelledby="links">
      <SectionHead title={texts.links.heading} id="links">
        {canEdit && edited === null && (
          <button type="button" className="quiet" onClick={() => edit("new")}>
            {texts.links.add}
          </button>
        )}
      </SectionHead>
      {links.length === 0 && edited === null && <p className="hint">{texts.links.none}</p>}
      <ul className="links">
        {links.map((link) =>
          edited === link ? (
            <li key={`${link.url} ${link.label}`}>
              <LinkForm link={link} others={links.filter((other) => other !== link)} {...form} />
            </li>
          ) : (
            <li key={`${link.url} ${link.label}`}>
              <Target link={link} />
              <Stamp actor={link.actor} time={link.created.time} />
              {canEdit && (
                <span className="link-actions">
                  <button
                    type="button"
                    className="quiet"
                    aria-label={texts.links.edit(link.label)}
                    onClick={() => edit(link)}
                  >
                    {texts.links.editShort}
                  </button>
                  <button
                    type="button"
                    className="quiet"
                    aria-label={texts.links.remove(link.label)}
                    onClick={() => takeAway(link)}
                  >
                    {texts.links.removeShort}
                  </button>
                </span>
              )}
            </li>
          ),
        )}
      </ul>
      {edited === "new" && <LinkForm others={links} {...form} />}
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
