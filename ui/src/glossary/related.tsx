import { useState } from "react";

import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { EntityLink } from "../components/common.tsx";
import { Dialog } from "../components/dialog.tsx";
import { EntityPicker } from "../components/entity_picker.tsx";
import { plainText } from "../components/plain_text.ts";
import { LoadingOrError, StaleNotice } from "../components/states.tsx";
import { UndoNotice, useUndo } from "../components/undo.tsx";
import {
  AddRelatedTermDocument,
  RelatedTermsDocument,
  RemoveRelatedTermDocument,
  type TermRelationsFragment,
  type TermRelationshipType,
} from "../generated/operations.ts";
import { nameOf, type Nameable } from "../names.ts";
import { RailSection } from "../rail/section.tsx";
import { glossaryTexts } from "../glossary_texts.ts";

/** The kinds of relations that users edit, by the name of the stored relationship. */
const EDITABLE: Readonly<Record<string, TermRelationshipType>> = { IsA: "isA", HasA: "hasA" };

type Term = Nameable & { readonly urn: string };

/** How a term is related to others, from both sides. */
export function RelatedTerms({
  term,
  canEdit,
}: {
  readonly term: Term;
  readonly canEdit: boolean;
}) {
  const words = glossaryTexts.related;
  const read = useApiQuery(RelatedTermsDocument, { urn: term.urn });
  const [isAdding, setAdding] = useState(false);
  const [kind, setKind] = useState<TermRelationshipType>("isA");
  const add = useApiMutation(AddRelatedTermDocument);
  const remove = useApiMutation(RemoveRelatedTermDocument);
  const { last, report } = useUndo();
  const change = (
    other: Term,
    relation: TermRelationshipType,
    isRemoved: boolean,
    onDone: () => void = () => undefined,
  ) => {
    add.reset();
    remove.reset();
    (isRemoved ? remove : add).mutate(
      { urn: term.urn, term: other.urn, kind: relation },
      {
        onSuccess: () => {
          onDone();
          report((isRemoved ? words.removed : words.added)(nameOf(other)), () =>
            change(other, relation, !isRemoved),
          );
        },
      },
    );
  };
  const isBusy = add.isPending || remove.isPending;
  const outgoing = read.data?.glossaryTerm?.outgoing;
  const incoming = read.data?.glossaryTerm?.incoming;
  const isEmpty = (outgoing?.total ?? 0) + (incoming?.total ?? 0) === 0;
  const chosen = (outgoing?.relationships ?? []).flatMap(({ type, entity }) =>
    EDITABLE[type] === kind && entity !== null && entity !== undefined ? [entity.urn] : [],
  );
  const open = () => {
    add.reset();
    setAdding(true);
  };
  return (
    <RailSection
      id="related-terms"
      heading={words.heading}
      add={canEdit ? { label: words.add, onClick: open } : undefined}
    >
      {read.data === undefined && <LoadingOrError read={read} lines={2} />}
      <StaleNotice read={read} />
      {read.data !== undefined && isEmpty && <p className="hint">{words.none}</p>}
      <Relations
        relations={outgoing}
        headings={words.headings}
        isBusy={isBusy}
        onRemove={canEdit ? (other, relation) => change(other, relation, true) : undefined}
      />
      <Relations relations={incoming} headings={words.incoming} isBusy={isBusy} />
      <UndoNotice
        last={last}
        isBusy={isBusy}
        error={isAdding ? null : (add.error ?? remove.error)}
      />
      {isAdding && (
        <Dialog title={words.addTitle(nameOf(term))} isOpen onClose={() => setAdding(false)}>
          <EntityPicker
            types={["GLOSSARY_TERM"]}
            words={words}
            chosen={new Set([...chosen, term.urn])}
            error={add.error}
            onPick={(other) => !isBusy && change(other, kind, false, () => setAdding(false))}
          />
          <label className="field">
            {words.kind}
            <select
              value={kind}
              onChange={(event) => setKind(event.target.value as TermRelationshipType)}
            >
              {Object.values(EDITABLE).map((value) => (
                <option key={value} value={value}>
                  {words.kinds[value]}
                </option>
              ))}
            </select>
          </label>
        </Dialog>
      )}
    </RailSection>
  );
}

/** The relations of one direction, by kind. */
function Relations({
  relations,
  headings,
  isBusy,
  onRemove,
}: {
  readonly relations: TermRelationsFragment | null | undefined;
  readonly headings: Readonly<Record<string, string>>;
  readonly isBusy: boolean;
  readonly onRemove?: ((other: Term, relation: TermRelationshipType) => void) | undefined;
}) {
  const found = relations?.relationships ?? [];
  const hidden = (relations?.total ?? 0) - found.length;
  return (
    <>
      {Object.entries(headings).map(([type, heading]) => {
        const terms = found.flatMap((relation) =>
          relation.type === type && relation.entity ? [relation.entity] : [],
        );
        const relation = EDITABLE[type];
        return terms.length === 0 ? null : (
          <div key={type}>
            <h3 className="hint">{heading}</h3>
            <ul className="chips">
              {terms.map((other) => (
                <li key={other.urn} className="chip" title={definitionOf(other)}>
                  <EntityLink entity={other} />
                  {onRemove !== undefined && relation !== undefined && (
                    <button
                      type="button"
                      className="chip-remove"
                      disabled={isBusy}
                      aria-label={glossaryTexts.related.remove(nameOf(other))}
                      onClick={() => onRemove(other, relation)}
                    >
                      ✕
                    </button>
                  )}
                </li>
              ))}
            </ul>
          </div>
        );
      })}
      {hidden > 0 && <p className="hint">{glossaryTexts.related.more(hidden)}</p>}
    </>
  );
}

function definitionOf(term: object): string | undefined {
  const properties = (term as { termProperties?: { description?: string | null } | null })
    .termProperties;
  return plainText(properties?.description ?? "") || undefined;
}
