import { useState } from "react";

import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { Dialog } from "../components/dialog.tsx";
import { EntityPicker } from "../components/entity_picker.tsx";
import { ErrorMessage, LoadingOrError, StaleNotice } from "../components/states.tsx";
import { UndoNotice, useUndo } from "../components/undo.tsx";
import {
  LineageEditorDocument,
  UpdateLineageDocument,
  type EntityType,
  type LineageEditorQuery,
} from "../generated/operations.ts";
import { nameOf, type Nameable } from "../names.ts";
import { lineageTexts } from "../lineage_texts.ts";
import { DIRECTIONS, type Direction } from "./graph.ts";

/** The types that the API allows at the other end of an edge. */
const TYPES: Readonly<Partial<Record<EntityType, Readonly<Record<Direction, EntityType[]>>>>> = {
  DATASET: {
    upstream: ["DATASET", "DATA_JOB"],
    downstream: ["DATASET", "DATA_JOB", "CHART", "DASHBOARD"],
  },
  DATA_JOB: { upstream: ["DATASET", "DATA_JOB"], downstream: ["DATASET", "DATA_JOB"] },
  CHART: { upstream: ["DATASET", "CHART"], downstream: ["CHART", "DASHBOARD"] },
  DASHBOARD: { upstream: ["DATASET", "CHART"], downstream: [] },
};

type Entity = Nameable & { readonly urn: string };

interface Change {
  readonly direction: Direction;
  readonly entity: Entity;
  readonly isRemoval: boolean;
}

interface EditProperties {
  readonly urn: string;
  readonly type: EntityType;
  readonly name: string;
}

/** A button that opens the editor of direct edges, and what was changed last. */
export function EditLineage({ urn, type, name }: EditProperties) {
  const words = lineageTexts.edit;
  const [isOpen, setOpen] = useState(false);
  const { last, report, clear } = useUndo();
  const update = useApiMutation(UpdateLineageDocument);
  const types = TYPES[type];
  if (types === undefined) return null;
  const save = (changes: readonly Change[]) => {
    const edges = (isRemoval: boolean) =>
      changes.filter((change) => change.isRemoval === isRemoval).map((it) => edgeOf(urn, it));
    update.mutate(
      { added: edges(false), removed: edges(true) },
      {
        onSuccess: () => {
          setOpen(false);
          const inverse = changes.map((it) => ({ ...it, isRemoval: !it.isRemoval }));
          report(words.saved(changes.length), () => save(inverse));
        },
      },
    );
  };
  const open = () => {
    update.reset();
    clear();
    setOpen(true);
  };
  return (
    <div className="lineage-edit">
      <button type="button" onClick={open}>
        {words.open}
      </button>
      <UndoNotice last={last} isBusy={update.isPending} error={isOpen ? null : update.error} />
      <Dialog isWide title={words.title(name)} isOpen={isOpen} onClose={() => setOpen(false)}>
        <Editor
          urn={urn}
          types={types}
          isBusy={update.isPending}
          error={update.error}
          onSave={save}
          onCancel={() => setOpen(false)}
        />
      </Dialog>
    </div>
  );
}

function edgeOf(urn: string, { direction, entity }: Change) {
  return direction === "upstream"
    ? { upstreamUrn: entity.urn, downstreamUrn: urn }
    : { upstreamUrn: urn, downstreamUrn: entity.urn };
}

interface EditorProperties {
  readonly urn: string;
  readonly types: Readonly<Record<Direction, EntityType[]>>;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly onSave: (changes: readonly Change[]) => void;
  readonly onCancel: () => void;
}

/** The direct edges of an entity, with the changes that saving would make. */
function Editor({ urn, types, isBusy, error, onSave, onCancel }: EditorProperties) {
  const words = lineageTexts.edit;
  const read = useApiQuery(LineageEditorDocument, { urn });
  const [changes, setChanges] = useState<readonly Change[]>([]);
  const [adding, setAdding] = useState<Direction | null>(null);
  const entity = read.data?.entity;
  if (entity === null || entity === undefined || !("upstream" in entity))
    return <LoadingOrError read={read} />;
  const isSame = (one: Change, other: Change) =>
    one.direction === other.direction && one.entity.urn === other.entity.urn;
  const toggle = (change: Change) =>
    setChanges((current) =>
      current.some((it) => isSame(it, change))
        ? current.filter((it) => !isSame(it, change))
        : [...current, change],
    );
  if (adding !== null) {
    const present = [
      urn,
      ...edgesOf(entity[adding]).map((edge) => edge.entity.urn),
      ...changes.filter(({ direction }) => direction === adding).map((it) => it.entity.urn),
    ];
    return (
      <>
        <EntityPicker
          types={types[adding]}
          words={{
            filter: words.filter,
            list: words.list,
            chosen: words.present,
            noMatch: words.noMatch,
          }}
          chosen={new Set(present)}
          error={null}
          onPick={(picked) => {
            toggle({ direction: adding, entity: picked, isRemoval: false });
            setAdding(null);
          }}
        />
        <button type="button" onClick={() => setAdding(null)}>
          {words.back}
        </button>
      </>
    );
  }
  return (
    <form
      className="lineage-editor"
      onSubmit={(event) => {
        event.preventDefault();
        if (changes.length > 0) onSave(changes);
      }}
    >
      <StaleNotice read={read} />
      <p className="hint">{words.hint}</p>
      {DIRECTIONS.map((direction) => (
        <Side
          key={direction}
          direction={direction}
          edges={edgesOf(entity[direction])}
          changes={changes.filter((change) => change.direction === direction)}
          canAdd={types[direction].length > 0}
          onToggle={toggle}
          onAdd={() => setAdding(direction)}
        />
      ))}
      <p role="status">{words.preview(changes.length)}</p>
      {error !== null && <ErrorMessage error={error} />}
      <div className="lineage-editor-buttons">
        <button type="submit" className="primary" disabled={isBusy || changes.length === 0}>
          {isBusy ? words.saving : words.save(changes.length)}
        </button>
        <button type="button" onClick={onCancel}>
          {words.cancel}
        </button>
      </div>
    </form>
  );
}

type Side = Extract<
  NonNullable<LineageEditorQuery["entity"]>,
  { readonly upstream?: unknown }
>["upstream"];

interface DirectEdge {
  readonly entity: Entity;
  readonly isManual: boolean;
}

const edgesOf = (side: Side): readonly DirectEdge[] =>
  (side?.relationships ?? []).flatMap(({ entity, isManual }) =>
    entity === null || entity === undefined ? [] : [{ entity, isManual: isManual === true }],
  );

interface SideProperties {
  readonly direction: Direction;
  readonly edges: readonly DirectEdge[];
  readonly changes: readonly Change[];
  readonly canAdd: boolean;
  readonly onToggle: (change: Change) => void;
  readonly onAdd: () => void;
}

function Side({ direction, edges, changes, canAdd, onToggle, onAdd }: SideProperties) {
  const words = lineageTexts.edit;
  const added = changes.filter(({ isRemoval }) => !isRemoval);
  const isRemoved = (urn: string) =>
    changes.some((change) => change.isRemoval && change.entity.urn === urn);
  return (
    <section aria-labelledby={`lineage-edit-${direction}`}>
      <h3 id={`lineage-edit-${direction}`}>{words[direction]}</h3>
      {edges.length + added.length === 0 && <p className="hint">{words.none}</p>}
      <ul>
        {edges.map(({ entity, isManual }) => (
          <li key={entity.urn}>
            {isRemoved(entity.urn) ? <del>{nameOf(entity)}</del> : nameOf(entity)}{" "}
            <span className="hint">
              {isRemoved(entity.urn) ? words.removed : isManual ? words.manual : words.ingested}
            </span>
            {isManual && (
              <button
                type="button"
                className="subtle"
                aria-label={(isRemoved(entity.urn) ? words.keep : words.remove)(nameOf(entity))}
                onClick={() => onToggle({ direction, entity, isRemoval: true })}
              >
                {isRemoved(entity.urn) ? words.keepShort : words.removeShort}
              </button>
            )}
          </li>
        ))}
        {added.map((change) => (
          <li key={change.entity.urn}>
            <ins>{nameOf(change.entity)}</ins> <span className="hint">{words.added}</span>
            <button
              type="button"
              className="subtle"
              aria-label={words.remove(nameOf(change.entity))}
              onClick={() => onToggle(change)}
            >
              {words.removeShort}
            </button>
          </li>
        ))}
      </ul>
      {canAdd && (
        <button type="button" onClick={onAdd}>
          {words.add[direction]}
        </button>
      )}
    </section>
  );
}
