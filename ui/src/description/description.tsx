import { useEffect, useRef, useState } from "react";

import { useMe } from "../api/cache.ts";
import { draftName, dropDraft, readDraft } from "../components/drafts.ts";
import { loadEditor } from "../components/editor.tsx";
import { useKeys } from "../components/keys.ts";
import { Markdown } from "../components/markdown.tsx";
import { SectionHead } from "../components/sections.tsx";
import { Stamp } from "../components/small.tsx";
import { Empty } from "../components/states.tsx";
import { texts } from "../texts.ts";
import { DescriptionEditor } from "./description_editor.tsx";
import type { Said } from "./stored.ts";

interface DescriptionProperties {
  readonly urn: string;
  /** What people said; empty if nobody said anything. */
  readonly written: string;
  readonly writtenBy?: Said | undefined;
  /** What ingestion said, where that is kept apart. */
  readonly ingested?: string;
  readonly ingestedBy?: Said | undefined;
  readonly canEdit: boolean;
}

/** What is known about an entity in words: what people wrote stands first, what ingestion reported below it. */
export function Description({ urn, written, writtenBy, ingested, ingestedBy, canEdit }: DescriptionProperties) {
  const me = useMe();
  const draft = draftName(me.data?.me?.corpUser.urn ?? "", urn);
  // Whoever wrote something that was not saved goes on with it.
  const [isEditing, setEditing] = useState(() => canEdit && (readDraft(draft)?.mine ?? written) !== written);
  // What is stored after all is no draft: only the answer was lost, or another window saved it.
  useEffect(() => {
    if (readDraft(draft)?.mine === written) dropDraft(draft);
  }, []);
  const section = useRef<HTMLElement>(null);
  // Whoever closes the editor finds the focus on the button that opened it, unless they have gone elsewhere.
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
  const reported = ingested ?? "";
  const hasBoth = written !== "" && reported !== "" && written !== reported;
  useKeys({ e: () => canEdit && setEditing(true) });
  if (isEditing) {
    return (
      <section className="section" aria-labelledby="description" ref={section}>
        <SectionHead title={texts.description.heading} id="description" />
        <DescriptionEditor urn={urn} saved={written} suggested={reported} draft={draft} onDone={close} />
      </section>
    );
  }
  const isEmpty = written === "" && reported === "";
  return (
    <section className="section" aria-labelledby="description">
      <SectionHead title={texts.description.heading} id="description">
        {canEdit && !isEmpty && (
          <button
            type="button"
            className="quiet"
            ref={takeFocus}
            aria-label={texts.description.editLabel}
            onPointerEnter={() => void loadEditor()}
            onClick={() => setEditing(true)}
          >
            {texts.description.edit}
          </button>
        )}
      </SectionHead>
      {isEmpty && (
        <Empty title={texts.description.none} hint={texts.description.noneHint}>
          {canEdit && (
            <button
              type="button"
              ref={takeFocus}
              onPointerEnter={() => void loadEditor()}
              onClick={() => setEditing(true)}
            >
              {texts.description.write}
            </button>
          )}
        </Empty>
      )}
      {written !== "" && (
        <div className="said">
          <Markdown text={written} />
          <Source
            label={ingested === undefined ? texts.description.lastChanged : texts.description.person}
            said={writtenBy}
          />
        </div>
      )}
      {reported !== "" && (written === "" || hasBoth) && (
        <div className={hasBoth ? "said said-second" : "said"}>
          <Markdown text={reported} />
          <Source label={texts.description.ingested} said={ingestedBy} />
        </div>
      )}
    </section>
  );
}

function Source({ label, said }: { readonly label: string; readonly said: Said | undefined }) {
  return (
    <p className="source">
      {label}
      {said !== undefined && (
        <>
          {" · "}
          <Stamp actor={said.actor} time={said.time} />
        </>
      )}
    </p>
  );
}
