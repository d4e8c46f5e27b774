import { CopyButton, EntityLink } from "../components/common.tsx";
import { Links } from "../dataset/links.tsx";
import type { DatasetQuery, StructuredPropertyEntryFragment } from "../generated/operations.ts";
import { canChange } from "../privileges.ts";
import { texts } from "../texts.ts";
import { DomainSection } from "./domain.tsx";
import { Tags, Terms } from "./labels.tsx";
import { Owners } from "./owners.tsx";
import { RailSection } from "./section.tsx";

type Dataset = NonNullable<DatasetQuery["dataset"]>;

/** Who owns a dataset, where it belongs, and how it is labeled. */
export function Rail({ dataset }: { readonly dataset: Dataset }) {
  const { urn, privileges } = dataset;
  return (
    <aside className="rail" aria-label={texts.rail.label}>
      <Owners
        urn={urn}
        owners={dataset.ownership?.owners ?? []}
        canEdit={canChange(privileges, "canEditOwners")}
      />
      <DomainSection dataset={dataset} />
      <Tags
        urn={urn}
        tags={(dataset.tags?.tags ?? []).map(({ tag }) => tag)}
        canEdit={canChange(privileges, "canEditTags")}
      />
      <Terms
        urn={urn}
        terms={(dataset.glossaryTerms?.terms ?? []).map(({ term }) => term)}
        canEdit={canChange(privileges, "canEditGlossaryTerms")}
      />
      <Links
        urn={urn}
        links={dataset.institutionalMemory?.elements ?? []}
        canEdit={canChange(privileges, "canEditLinks")}
      />
      <Properties dataset={dataset} />
      <RailSection id="identifier" heading={texts.rail.identifier}>
        <p>
          <code className="urn">{urn}</code> <CopyButton text={urn} label={texts.dataset.copyUrn} />
        </p>
      </RailSection>
    </aside>
  );
}

/** Structured properties, then those that ingestion has set. */
function Properties({ dataset }: { readonly dataset: Dataset }) {
  const structured = dataset.structuredProperties?.properties ?? [];
  const custom = dataset.properties?.customProperties ?? [];
  if (structured.length === 0 && custom.length === 0) return null;
  return (
    <RailSection id="properties" heading={texts.rail.properties}>
      <dl className="property-list">
        {structured.map((entry) => (
          <div key={entry.structuredProperty.urn}>
            <dt title={entry.structuredProperty.definition.description ?? undefined}>
              {entry.structuredProperty.definition.displayName ??
                entry.structuredProperty.definition.qualifiedName}
            </dt>
            <dd>
              <PropertyValues entry={entry} />
            </dd>
          </div>
        ))}
        {custom.map((property) => (
          <div key={property.key}>
            <dt>{property.key}</dt>
            <dd dir="auto">{property.value}</dd>
          </div>
        ))}
      </dl>
    </RailSection>
  );
}

function PropertyValues({ entry }: { readonly entry: StructuredPropertyEntryFragment }) {
  const entities = (entry.valueEntities ?? []).filter((entity) => entity !== null);
  if (entities.length > 0)
    return entities.map((entity) => <EntityLink key={entity.urn} entity={entity} />);
  const values = entry.values.filter((value) => value !== null);
  const text = (value: (typeof values)[number]) =>
    "stringValue" in value ? value.stringValue : texts.number(value.numberValue);
  return texts.list(values.map(text));
}
