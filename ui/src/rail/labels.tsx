import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { useMe, useProposableMutation } from "../api/cache.ts";
import type { Operation } from "../api/operation.ts";
import { loadChunk } from "../components/chunks.ts";
import { EntityLink } from "../components/common.tsx";
import { Dialog } from "../components/dialog.tsx";
import { EntityPicker } from "../components/entity_picker_on_demand.tsx";
import { plainText } from "../components/plain_text.ts";
import { UndoNotice, useUndo } from "../components/undo.tsx";
import {
  AddTagDocument,
  AddTermDocument,
  RemoveTagDocument,
  RemoveTermDocument,
  type EntityType,
  type TagLabelFragment,
  type TermLabelFragment,
} from "../generated/operations.ts";
import { Icon } from "../icons/icon.tsx";
import { nameOf, type Nameable } from "../names.ts";
import { wordsFor, type Right } from "../privileges.ts";
import { PendingMark } from "../proposals/pending.tsx";
import { proposingTexts } from "../proposing_texts.ts";
import { texts } from "../texts.ts";
import { RailSection } from "./section.tsx";

type Labeling = Operation<
  unknown,
  { urn: string; label: string; column?: string; columnType?: "DATASET_FIELD" }
>;

/** A tag or a glossary term. */
interface Label extends Nameable {
  readonly urn: string;
  readonly hint?: string | undefined;
  readonly color?: string | null | undefined;
  readonly isImported?: boolean | undefined;
}

/** A label that ingestion has set on a column is part of its schema: only ingestion removes it. */
interface Source {
  readonly isImported?: boolean;
}

interface LabelsProperties {
  readonly id: string;
  readonly words: typeof texts.rail.terms;
  readonly type: EntityType;
  /** The labeled entity. */
  readonly urn: string;
  /** The path of the labeled column of it. */
  readonly column?: string | undefined;
  readonly labels: readonly Label[];
  readonly right: Right;
  readonly addition: Labeling;
  readonly removal: Labeling;
  /** Whether labels can be created while one is added. */
  readonly canCreate?: boolean;
}

export function Tags({
  urn,
  column,
  tags,
  right,
}: {
  readonly urn: string;
  readonly column?: string;
  readonly tags: readonly (TagLabelFragment & Source)[];
  readonly right: Right;
}) {
  const granted = useMe().data?.me?.platformPrivileges;
  const labels = tags.map((tag) => ({
    ...tag,
    hint: tag.properties?.description ?? undefined,
    color: tag.properties?.colorHex,
  }));
  return (
    <Labels
      id={column === undefined ? "tags" : "column-tags"}
      words={wordsFor(right, texts.rail.tags, proposingTexts.tags)}
      type="TAG"
      urn={urn}
      column={column}
      labels={labels}
      right={right}
      addition={AddTagDocument}
      removal={RemoveTagDocument}
      canCreate={granted?.createTags === true || granted?.manageTags === true}
    />
  );
}

export function Terms({
  urn,
  column,
  terms,
  right,
}: {
  readonly urn: string;
  readonly column?: string;
  readonly terms: readonly (TermLabelFragment & Source)[];
  readonly right: Right;
}) {
  const labels = terms.map((term) => ({
    ...term,
    hint: term.properties?.definition || term.properties?.description || undefined,
  }));
  return (
    <Labels
      id={column === undefined ? "terms" : "column-terms"}
      words={wordsFor(right, texts.rail.terms, proposingTexts.terms)}
      type="GLOSSARY_TERM"
      urn={urn}
      column={column}
      labels={labels}
      right={right}
      addition={AddTermDocument}
      removal={RemoveTermDocument}
    />
  );
}

function Labels(properties: LabelsProperties) {
  const { id, words, type, urn, column, labels, right } = properties;
  const canEdit = right !== "none";
  const [isAdding, setAdding] = useState(false);
  const add = useProposableMutation(properties.addition);
  const remove = useProposableMutation(properties.removal);
  const create = useMutation({
    mutationFn: async (name: string) => {
      const { createTag } = await loadChunk(import("../tags/create.ts"));
      return { urn: await createTag(name), properties: { name } };
    },
    onSuccess: (tag) => change(tag, false),
  });
  const { last, report, clear } = useUndo();
  const change = (label: Nameable & { readonly urn: string }, isRemoved: boolean) => {
    add.reset();
    remove.reset();
    const name = nameOf(label);
    const done = (isProposed: boolean) => {
      setAdding(false);
      // The shell tells that the change waits for a decision.
      if (isProposed) clear();
      else report((isRemoved ? words.removed : words.added)(name), () => change(label, !isRemoved));
    };
    const target =
      column === undefined ? { urn } : { urn, column, columnType: "DATASET_FIELD" as const };
    (isRemoved ? remove : add).mutate({ ...target, label: label.urn }, { onSuccess: done });
  };
  const isBusy = add.isPending || remove.isPending || create.isPending;
  const open = () => {
    add.reset();
    create.reset();
    setAdding(true);
  };
  return (
    <RailSection
      id={id}
      heading={words.heading}
      add={canEdit ? { label: words.add, onClick: open } : undefined}
    >
      {labels.length === 0 && <p className="hint">{words.none}</p>}
      <ul className="chips">
        {labels.map((label) => (
          <li key={label.urn} className="chip">
            {label.color !== null && label.color !== undefined && (
              <span
                className="tag-dot"
                style={{ backgroundColor: label.color }}
                aria-hidden="true"
              />
            )}
            <span className="definition" data-tooltip={label.hint && plainText(label.hint)}>
              <EntityLink entity={label} />
            </span>
            {label.isImported === true && <span className="hint">{texts.rail.imported}</span>}
            {canEdit && label.isImported !== true && (
              <button
                type="button"
                className="chip-remove"
                disabled={isBusy}
                aria-label={words.remove(nameOf(label))}
                onClick={() => change(label, true)}
              >
                <Icon name="close" />
              </button>
            )}
          </li>
        ))}
      </ul>
      {column === undefined && <PendingMark urn={urn} part={type === "TAG" ? "tags" : "terms"} />}
      <UndoNotice
        last={last}
        isBusy={isBusy}
        error={isAdding ? null : (add.error ?? remove.error)}
      />
      {isAdding && (
        <Dialog title={words.addTitle} isOpen onClose={() => setAdding(false)}>
          <EntityPicker
            types={[type]}
            words={words}
            chosen={new Set(labels.map((label) => label.urn))}
            error={add.error ?? create.error}
            onPick={(label) => !isBusy && change(label, false)}
            creation={
              properties.canCreate === true
                ? {
                    label: texts.rail.tags.create,
                    onCreate: (name) => !isBusy && create.mutate(name),
                  }
                : undefined
            }
          />
        </Dialog>
      )}
    </RailSection>
  );
}
