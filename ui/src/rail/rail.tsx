import { Fragment, type ReactNode } from "react";

import * as addresses from "../addresses.ts";
import { CopyButton, EntityLink } from "../components/common.tsx";
import type {
  DomainPartFragment,
  LinksPartFragment,
  OwnerEntryFragment,
  PropertiesPartFragment,
  RailPrivilegesFragment,
  StructuredPropertyEntryFragment,
  TagsPartFragment,
  TermsPartFragment,
} from "../generated/operations.ts";
import { rightTo } from "../privileges.ts";
import { texts } from "../texts.ts";
import { DomainSection } from "./domain.tsx";
import { Tags, Terms } from "./labels.tsx";
import { Links } from "./links.tsx";
import { Owners } from "./owners.tsx";
import { RailSection } from "./section.tsx";

/** What the rail shows; a part that the entity type does not have is absent. */
export interface Governed {
  readonly urn: string;
  readonly ownership?: { readonly owners?: readonly OwnerEntryFragment[] | null } | null;
  readonly domain?: DomainPartFragment | null;
  readonly tags?: TagsPartFragment | null;
  readonly glossaryTerms?: TermsPartFragment | null;
  readonly institutionalMemory?: LinksPartFragment | null;
  readonly structuredProperties?: PropertiesPartFragment | null;
  readonly properties?: {
    readonly customProperties?: readonly { key: string; value?: string | null }[] | null;
  } | null;
  readonly privileges?: Partial<RailPrivilegesFragment> | null;
}

export interface RailProperties {
  readonly entity: Governed;
  readonly label: string;
  /** Sections of this entity type alone. */
  readonly children?: ReactNode;
}

/** Who owns an entity, where it belongs, and how it is labeled. What only its type has comes
 *  first. */
export function Rail({ entity, label, children }: RailProperties) {
  const { urn, privileges } = entity;
  return (
    <aside className="rail" aria-label={label}>
      {children}
      {entity.ownership !== undefined && (
        <Owners
          urn={urn}
          owners={entity.ownership?.owners ?? []}
          right={rightTo(privileges, "canEditOwners")}
        />
      )}
      {entity.domain !== undefined && (
        <DomainSection
          urn={urn}
          domain={entity.domain?.domain}
          right={rightTo(privileges, "canEditDomains")}
        />
      )}
      {entity.tags !== undefined && (
        <Tags
          urn={urn}
          tags={(entity.tags?.tags ?? []).map(({ tag }) => tag)}
          right={rightTo(privileges, "canEditTags")}
        />
      )}
      {entity.glossaryTerms !== undefined && (
        <Terms
          urn={urn}
          terms={(entity.glossaryTerms?.terms ?? []).map(({ term }) => term)}
          right={rightTo(privileges, "canEditGlossaryTerms")}
        />
      )}
      {entity.institutionalMemory !== undefined && (
        <Links
          urn={urn}
          links={entity.institutionalMemory?.elements ?? []}
          right={rightTo(privileges, "canEditLinks")}
        />
      )}
      <Properties entity={entity} />
      <RailSection id="identifier" heading={texts.rail.identifier}>
        <p>
          <code className="urn">{urn}</code> <CopyButton text={urn} label={texts.dataset.copyUrn} />{" "}
          <CopyButton
            text={new URL(addresses.entity(urn), window.location.href).href}
            label={texts.dataset.copyLink}
            caption={texts.dataset.copyLink}
          />
        </p>
      </RailSection>
    </aside>
  );
}

/** Structured properties, then those that ingestion has set. */
function Properties({ entity }: { readonly entity: Governed }) {
  const structured = entity.structuredProperties?.properties ?? [];
  const custom = entity.properties?.customProperties ?? [];
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
    return entities.map((entity, index) => (
      <Fragment key={entity.urn}>
        {index > 0 && ", "}
        <EntityLink entity={entity} />
      </Fragment>
    ));
  const values = entry.values.filter((value) => value !== null);
  const text = (value: (typeof values)[number]) =>
    "stringValue" in value ? value.stringValue : texts.number(value.numberValue);
  return texts.list(values.map(text));
}
