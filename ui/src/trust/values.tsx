import { EntityLink } from "../components/common.tsx";
import { Markdown } from "../components/markdown.tsx";
import type { PropertyValuesFragment } from "../generated/operations.ts";
import { textOf } from "./property_values.ts";

/** The values of a structured property, entities as links. */
export function PropertyValues({ entry }: { readonly entry: PropertyValuesFragment }) {
  const entities = (entry.valueEntities ?? []).filter((entity) => entity !== null);
  if (entities.length > 0) {
    return (
      <ul className="value-list">
        {entities.map((entity) => (
          <li key={entity.urn}>
            <EntityLink entity={entity} />
          </li>
        ))}
      </ul>
    );
  }
  if (entry.structuredProperty.definition.valueType.info.type === "RICH_TEXT")
    return <Markdown text={textOf(entry)} />;
  return <span dir="auto">{textOf(entry)}</span>;
}
