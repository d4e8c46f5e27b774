import { NamedChips } from "../admin/named_picker.tsx";
import type { Named } from "../admin/policy.ts";
import { EntityPicker } from "../components/entity_picker.tsx";
import type { EntityType, PropertyDefinitionFragment } from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { propertyTexts } from "../property_texts.ts";

/** Finds the entities that are the values of a property, among the types that it allows. */
export function EntityValues({
  property: { definition },
  chosen,
  onChange,
}: {
  readonly property: PropertyDefinitionFragment;
  readonly chosen: readonly Named[];
  readonly onChange: (chosen: readonly Named[]) => void;
}) {
  const isMultiple = definition.cardinality === "MULTIPLE";
  const types: EntityType[] =
    definition.typeQualifier?.allowedTypes?.map(({ info }) => info.type) ?? [];
  return (
    <>
      <NamedChips chosen={chosen} onChange={onChange} />
      {!isMultiple && chosen.length > 0 && <p className="hint">{propertyTexts.picker.replace}</p>}
      <EntityPicker
        types={types}
        words={propertyTexts.picker}
        chosen={new Set(chosen.map(({ urn }) => urn))}
        error={null}
        onPick={(entity) => {
          const picked = { urn: entity.urn, name: nameOf(entity) };
          onChange(isMultiple ? [...chosen, picked] : [picked]);
        }}
      />
    </>
  );
}
