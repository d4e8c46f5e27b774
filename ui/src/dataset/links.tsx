import { useState, type FormEvent } from "react";

import { useChange } from "../api/cache.ts";
import { focusAtFirst } from "../components/focus.ts";
import { isSafeAddress } from "../components/markdown.tsx";
import { Stamp } from "../components/small.tsx";
import { Problem } from "../components/states.tsx";
import { SectionHead } from "../description/description.tsx";
import { AddLinkDocument, RemoveLinkDocument, UpdateLinkDocument, type DatasetQuery } from "../generated/operations.ts";
import { texts } from "../texts.ts";

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
  const error = add.error ?? update.error ?? remove.error;

  const takeAway = async (link: LinkElement) => {
    await remove.mutateAsync({ urn, url: link.url, label: link.label });
    setRemoved(link);
  };
  const bringBack = async (link: LinkElement) => {
    await add.mutateAsync({ urn, url: link.url, label: link.label });
    setRemoved(null);
  };
  const save = async (url: string, label: string) => {
    if (edited === "new") await add.mutateAsync({ urn, url, label });
    else if (edited !== null) {
      await update.mutateAsync({ urn, currentUrl: edited.url, currentLabel: edited.label, url, label });
    }
    setEdited(null);
  };

  return (
    <section className="section" aria-labelledby="links">
      <SectionHead title={texts.links.heading} id="links">
        {canEdit && edited === null && (
          <button type="button" className="quiet" onClick={() => setEdited("new")}>
            {texts.links.add}
          </button>
        )}
      </SectionHead>
      {links.length === 0 && edited === null && <p className="hint">{texts.links.none}</p>}
      <ul className="links">
        {links.map((link) =>
          edited === link ? (
            <li key={`${link.url} ${link.label}`}>
              <LinkForm link={link} onSave={save} onLeave={() => setEdited(null)} />
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
                    onClick={() => setEdited(link)}
                  >
                    {texts.links.editShort}
                  </button>
                  <button
                    type="button"
                    className="quiet"
                    aria-label={texts.links.remove(link.label)}
                    onClick={() => void takeAway(link)}
                  >
                    {texts.links.removeShort}
                  </button>
                </span>
              )}
            </li>
          ),
        )}
      </ul>
      {edited === "new" && <LinkForm onSave={save} onLeave={() => setEdited(null)} />}
      {removed !== null && (
        <p className="hint" role="status">
          {texts.links.removed(removed.label)}{" "}
          <button type="button" className="quiet" onClick={() => void bringBack(removed)}>
            {texts.links.undo}
          </button>
        </p>
      )}
      {error !== null && <Problem error={error} />}
    </section>
  );
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

interface LinkFormProperties {
  readonly link?: LinkElement;
  readonly onSave: (url: string, label: string) => Promise<void>;
  readonly onLeave: () => void;
}

function LinkForm({ link, onSave, onLeave }: LinkFormProperties) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    // What went wrong is shown by the list.
    onSave(String(form.get("url")).trim(), String(form.get("label")).trim()).catch(() => undefined);
  };
  return (
    <form className="link-form" onSubmit={submit} onKeyDown={(event) => event.key === "Escape" && onLeave()}>
      <label>
        <span className="hidden">{texts.links.address}</span>
        <input
          name="url"
          defaultValue={link?.url}
          placeholder="https://…"
          title={texts.links.addressHint}
          required
          ref={focusAtFirst}
        />
      </label>
      <label>
        <span className="hidden">{texts.links.label}</span>
        <input name="label" defaultValue={link?.label} placeholder={texts.links.label} required />
      </label>
      <button type="submit" className="primary">
        {texts.links.save}
      </button>
      <button type="button" onClick={onLeave}>
        {texts.links.cancel}
      </button>
    </form>
  );
}
