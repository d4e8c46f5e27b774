import { useEffect, useRef, useState } from "react";

import { useMe } from "../api/cache.ts";
import { draftKey, deleteDraft, readDraft } from "../components/drafts.ts";
import { loadEditor } from "../components/editor.tsx";
import { Folded } from "../components/folded.tsx";
import { useShortcuts } from "../components/shortcuts.ts";
import { Markdown } from "../components/markdown.tsx";
import { SectionHeader } from "../components/sections.tsx";
import { Byline } from "../components/common.tsx";
import { EmptyState } from "../components/states.tsx";
import { Icon } from "../icons/icon.tsx";
import { wordsFor, type Right } from "../privileges.ts";
import { PendingMark } from "../proposals/pending.tsx";
import { proposingTexts } from "../proposing_texts.ts";
import { texts } from "../texts.ts";
import { DescriptionEditor } from "./description_editor.tsx";
import type { Authorship } from "./saved_description.ts";

interface DescriptionProperties {
  readonly urn: string;
  /** The description edited by users, or an empty string. */
  readonly edited: string;
  readonly editedBy?: Authorship | undefined;
  /** The imported description. Absent for entities that store only one description. */
  readonly imported?: string;
  readonly importedBy?: Authorship | undefined;
  readonly right: Right;
}

/** The description of an entity: the edited one first, the imported one below it. */
export function Description({
  urn,
  edited,
  editedBy,
  imported,
  importedBy,
  right,
}: DescriptionProperties) {
  const words = wordsFor(right, texts.description, proposingTexts.description);
  const canEdit = right !== "none";
  const me = useMe();
  const draft = draftKey(me.data?.me?.corpUser.urn ?? "", urn);
  // Reopen the editor if there is an unsaved draft.
  const [isEditing, setEditing] = useState(
    () => canEdit && (readDraft(draft)?.text ?? edited) !== edited,
  );
  // Of the first text and of the one below it. An edit makes an imported text the second.
  const [isUnfolded, setUnfolded] = useState(false);
  const [isOtherUnfolded, setOtherUnfolded] = useState(false);
  // A draft equal to the stored text was saved after all, here or in another window.
  useEffect(() => {
    if (readDraft(draft)?.text === edited) deleteDraft(draft);
  }, []);
  const section = useRef<HTMLElement>(null);
  // Closing the editor returns the focus to the button that opened it, unless the user has moved
  // on.
  const isReturning = useRef(false);
  const close = () => {
    const active = document.activeElement;
    isReturning.current = active === document.body || section.current?.contains(active) === true;
    setEditing(false);
  };
  const takeFocus = (button: HTMLButtonElement | null) => {
    if (button === null || !isReturning.current) return;
    isReturning.current = false;
    button.focus({ preventScroll: true });
  };
  const importedText = imported ?? "";
  const hasBoth = edited !== "" && importedText !== "" && edited !== importedText;
  useShortcuts({ e: () => canEdit && setEditing(true) });
  if (isEditing) {
    return (
      <section className="section" aria-labelledby="description" ref={section}>
        <SectionHeader title={texts.description.heading} id="description" />
        <DescriptionEditor
          urn={urn}
          saved={edited}
          suggested={importedText}
          draft={draft}
          right={right}
          onDone={close}
        />
      </section>
    );
  }
  const isEmpty = edited === "" && importedText === "";
  return (
    <section className="section" aria-labelledby="description">
      <SectionHeader title={texts.description.heading} id="description">
        {canEdit && !isEmpty && (
          <button
            type="button"
            className="subtle"
            ref={takeFocus}
            aria-label={words.editLabel}
            onPointerEnter={() => void loadEditor()}
            onClick={() => setEditing(true)}
          >
            <Icon name="edit" />
            {words.edit}
          </button>
        )}
      </SectionHeader>
      {isEmpty && (
        <EmptyState title={texts.description.none} hint={texts.description.noneHint(urn)}>
          {canEdit && (
            <button
              type="button"
              ref={takeFocus}
              onPointerEnter={() => void loadEditor()}
              onClick={() => setEditing(true)}
            >
              {words.add}
            </button>
          )}
        </EmptyState>
      )}
      {edited !== "" && (
        <div className="description-text">
          <Folded isUnfolded={isUnfolded} onChange={setUnfolded}>
            <Markdown text={edited} />
          </Folded>
          <Source
            label={texts.description.edited}
            at={texts.description.editedAt}
            by={texts.description.editedBy}
            authorship={editedBy}
          />
        </div>
      )}
      {importedText !== "" && (edited === "" || hasBoth) && (
        <div className={hasBoth ? "description-text description-secondary" : "description-text"}>
          <Folded
            isUnfolded={hasBoth ? isOtherUnfolded : isUnfolded}
            onChange={hasBoth ? setOtherUnfolded : setUnfolded}
          >
            <Markdown text={importedText} />
          </Folded>
          <Source
            label={texts.description.imported}
            at={texts.description.importedAt}
            by={texts.description.importedBy}
            authorship={importedBy}
          />
        </div>
      )}
      <PendingMark urn={urn} part="description" />
    </section>
  );
}

interface SourceProperties {
  /** Shown when the author and time are unknown. */
  readonly label: string;
  readonly at: string;
  readonly by: string;
  readonly authorship: Authorship | undefined;
}

/** Where a text comes from. */
function Source({ label, at, by, authorship }: SourceProperties) {
  return (
    <p className="source">
      {authorship === undefined ? (
        label
      ) : (
        <Byline actor={authorship.actor} time={authorship.time} at={at} by={by} />
      )}
    </p>
  );
}
