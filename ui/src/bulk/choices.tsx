// What the user chooses for a bulk action: labels to add or remove, owners, or a deprecation.

import { useState } from "react";

import { useApiQuery } from "../api/cache.ts";
import { EntityPicker } from "../components/entity_picker.tsx";
import { OwnershipTypesDocument, type EntityType } from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { bulkTexts } from "../bulk_texts.ts";
import { texts } from "../texts.ts";
import type { States } from "./entity_state.ts";
import type { Selected } from "./selection.ts";
import { ownerKey, ownerOf, type Deprecation, type SetFacet } from "./values.ts";

export const DEFAULT_OWNERSHIP_TYPE = "urn:li:ownershipType:__system__technical_owner";

const TYPES: Readonly<Record<SetFacet, EntityType[]>> = {
  tags: ["TAG"],
  terms: ["GLOSSARY_TERM"],
  owners: ["CORP_USER", "CORP_GROUP"],
};

/** The text of a tag, a term, or an owner with the type of ownership. */
function elementName(facet: SetFacet, key: string, names: ReadonlyMap<string, string>): string {
  if (facet !== "owners") return names.get(key) ?? key;
  const { owner, type } = ownerOf(key);
  return bulkTexts.ownerAs(names.get(owner) ?? owner, names.get(type) ?? "");
}

interface AddProperties {
  readonly facet: SetFacet;
  readonly chosen: readonly string[];
  readonly names: ReadonlyMap<string, string>;
  /** Called with the elements, and the names of new ones. */
  readonly onChange: (
    elements: readonly string[],
    names: readonly (readonly [string, string])[],
  ) => void;
}

export function AddChoice({ facet, chosen, names, onChange }: AddProperties) {
  const [type, setType] = useState(DEFAULT_OWNERSHIP_TYPE);
  const types = useApiQuery(OwnershipTypesDocument, {}, { enabled: facet === "owners" });
  const ownershipTypes = types.data?.listOwnershipTypes.ownershipTypes ?? [];
  const keyOf = (urn: string) => (facet === "owners" ? ownerKey(urn, type) : urn);
  const ofType = facet === "owners" ? chosen.filter((key) => ownerOf(key).type === type) : chosen;
  return (
    <>
      {facet === "owners" && ownershipTypes.length > 0 && (
        <label>
          {bulkTexts.ownershipType}
          <select value={type} onChange={(event) => setType(event.target.value)}>
            {ownershipTypes.map((entry) => (
              <option key={entry.urn} value={entry.urn}>
                {entry.info?.name ?? entry.urn}
              </option>
            ))}
          </select>
        </label>
      )}
      {chosen.length > 0 && (
        <ul className="chips" aria-label={bulkTexts.chosen}>
          {chosen.map((key) => {
            const name = elementName(facet, key, names);
            return (
              <li key={key} className="chip">
                {name}
                <button
                  type="button"
                  className="chip-remove"
                  aria-label={bulkTexts.removeChoice(name)}
                  onClick={() =>
                    onChange(
                      chosen.filter((other) => other !== key),
                      [],
                    )
                  }
                >
                  ✕
                </button>
              </li>
            );
          })}
        </ul>
      )}
      <EntityPicker
        types={TYPES[facet]}
        words={texts.rail[facet]}
        chosen={new Set(facet === "owners" ? ofType.map((key) => ownerOf(key).owner) : ofType)}
        error={null}
        onPick={(entity) => {
          const typeName = ownershipTypes.find(({ urn }) => urn === type)?.info?.name ?? "";
          onChange(
            [...chosen, keyOf(entity.urn)],
            [
              [entity.urn, nameOf(entity)],
              [type, typeName],
            ],
          );
        }}
      />
    </>
  );
}

interface RemovalProperties {
  readonly facet: SetFacet;
  readonly items: readonly Selected[];
  /** `null` until they are read. */
  readonly states: States | null;
  readonly chosen: readonly string[];
  readonly onChange: (elements: readonly string[]) => void;
}

/** What the selected entities have, each with the number of entities. */
export function RemovalChoice({ facet, items, states, chosen, onChange }: RemovalProperties) {
  if (states === null) return null;
  const counts = new Map<string, number>();
  for (const { urn } of items) {
    for (const key of states.byUrn.get(urn)?.values[facet] ?? [])
      counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  if (counts.size === 0) return <p className="hint">{bulkTexts.noneToRemove}</p>;
  const byCount = [...counts].sort(([, left], [, right]) => right - left);
  return (
    <fieldset className="bulk-options">
      <legend>{texts.rail[facet].heading}</legend>
      {byCount.map(([key, number]) => (
        <label key={key} className="bulk-option">
          <input
            type="checkbox"
            checked={chosen.includes(key)}
            onChange={(event) =>
              onChange(
                event.target.checked ? [...chosen, key] : chosen.filter((other) => other !== key),
              )
            }
          />
          {elementName(facet, key, states.names)}{" "}
          <span className="hint">{bulkTexts.carriedBy(number)}</span>
        </label>
      ))}
    </fieldset>
  );
}

export function DeprecationChoice({
  onChange,
}: {
  readonly onChange: (deprecation: Deprecation) => void;
}) {
  const [note, setNote] = useState("");
  const [day, setDay] = useState("");
  const report = (nextNote: string, nextDay: string) => {
    setNote(nextNote);
    setDay(nextDay);
    const time = Date.parse(nextDay);
    onChange({
      note: nextNote,
      decommissionTime: Number.isNaN(time) ? null : time,
      replacement: null,
    });
  };
  return (
    <>
      <label>
        <span>
          {bulkTexts.note} <span className="hint">{bulkTexts.noteHint}</span>
        </span>
        <textarea
          rows={3}
          dir="auto"
          value={note}
          onChange={(event) => report(event.target.value, day)}
        />
      </label>
      <label>
        {bulkTexts.decommission}
        <input type="date" value={day} onChange={(event) => report(note, event.target.value)} />
      </label>
    </>
  );
}
