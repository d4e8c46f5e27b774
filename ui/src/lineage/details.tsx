import { useState } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { EntityLink } from "../components/common.tsx";
import { Dialog } from "../components/dialog.tsx";
import { EntityPicker } from "../components/entity_picker.tsx";
import { LineageSubjectDocument, type EntityType } from "../generated/operations.ts";
import { lineageTexts } from "../lineage_texts.ts";
import { texts } from "../texts.ts";
import { columnUrn, type About } from "./about.ts";
import type { Neighbors } from "./graph.ts";
import { ColumnField, type ChangeState } from "./toolbar.tsx";

/** The types that a path can lead to. */
const PATH_TYPES: EntityType[] = ["DATASET", "DASHBOARD", "CHART", "DATA_JOB"];

interface DetailsProperties {
  readonly about: About;
  readonly neighbors: Neighbors | undefined;
  /** The entity that the page is about. */
  readonly start: { readonly urn: string; readonly name: string };
  readonly change: ChangeState;
  readonly onClose: () => void;
}

/** The selected entity, with what to do with it. */
export function Details({ about, neighbors, start, change, onClose }: DetailsProperties) {
  const words = lineageTexts.details;
  const { urn } = about;
  const isStart = urn === start.urn;
  const details = [about.kind, about.platform].filter((text) => text !== "");
  return (
    <section className="lineage-details" aria-label={words.label}>
      <header>
        <h3 dir="auto">
          {about.isRestricted ? about.name : <EntityLink entity={{ urn, name: about.name }} />}
        </h3>
        <button type="button" className="subtle" aria-label={words.close} onClick={onClose}>
          ✕
        </button>
      </header>
      <p className="hint">{details.join(" · ")}</p>
      {about.location !== "" && <p className="hint">{about.location}</p>}
      {about.isDeprecated && <p className="warning">{texts.dataset.deprecated}</p>}
      <dl>
        {about.domain !== undefined && (
          <>
            <dt>{words.domain}</dt>
            <dd>
              <EntityLink entity={about.domain} />
            </dd>
          </>
        )}
        {about.owners.length > 0 && (
          <>
            <dt>{words.owner}</dt>
            {about.owners.map((owner) => (
              <dd key={owner.urn}>
                <EntityLink entity={owner} />
              </dd>
            ))}
          </>
        )}
      </dl>
      {neighbors !== undefined && (
        <p className="hint">
          {words.neighbors(neighbors.upstream.total, neighbors.downstream.total)}
        </p>
      )}
      {!about.isRestricted && (
        <div className="lineage-actions">
          {!isStart && <Link href={addresses.lineage(urn)}>{words.lineage}</Link>}
          {!isStart && (
            <button type="button" onClick={() => change({ from: null, to: urn, column: null })}>
              {words.pathToStart(start.name)}
            </button>
          )}
          <OtherPath urn={urn} change={change} />
          {!isStart && <ColumnsOf about={about} change={change} />}
        </div>
      )}
    </section>
  );
}

/** Picks the other end of a path. */
function OtherPath({ urn, change }: { readonly urn: string; readonly change: ChangeState }) {
  const words = lineageTexts.path;
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        {lineageTexts.details.pathToOther}
      </button>
      <Dialog title={words.pick} isOpen={isOpen} onClose={() => setOpen(false)}>
        <EntityPicker
          types={PATH_TYPES}
          words={{
            filter: words.filter,
            list: words.list,
            chosen: words.current,
            noMatch: words.noMatch,
          }}
          chosen={new Set([urn])}
          error={null}
          onPick={(target) => {
            setOpen(false);
            change({ from: urn, to: target.urn, column: null });
          }}
        />
      </Dialog>
    </>
  );
}

/** Traces a column of a dataset. */
function ColumnsOf({
  about: { urn, name },
  change,
}: {
  readonly about: About;
  readonly change: ChangeState;
}) {
  const isDataset = urn.startsWith("urn:li:dataset:");
  const read = useApiQuery(LineageSubjectDocument, { urn }, { enabled: isDataset });
  const entity = read.data?.entity;
  const fields =
    entity !== null && entity !== undefined && "schemaMetadata" in entity
      ? (entity.schemaMetadata?.fields ?? [])
      : [];
  if (fields.length === 0) return null;
  return (
    <ColumnField
      table={name}
      columns={fields.map(({ fieldPath }) => fieldPath)}
      onTrace={(path) => change({ column: columnUrn(urn, path), from: null, to: null })}
    />
  );
}
