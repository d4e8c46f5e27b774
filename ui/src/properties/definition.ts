// Definitions of structured properties, as the page edits them.

import type {
  EntityType,
  ManagedPropertyFragment,
  PropertyDefinitionFragment,
  StdDataType,
} from "../generated/operations.ts";

/** The types that a new property can have. */
export const VALUE_TYPES = ["STRING", "NUMBER", "DATE", "URN", "RICH_TEXT"] as const;
export type ValueType = (typeof VALUE_TYPES)[number];

const TYPE_PREFIX = "urn:li:entityType:datahub.";

/** The kinds of assets to choose from, with their names in URNs of entity types. */
export const ENTITY_TYPES: ReadonlyArray<readonly [type: EntityType, name: string]> = [
  ["DATASET", "dataset"],
  ["DASHBOARD", "dashboard"],
  ["CHART", "chart"],
  ["DATA_FLOW", "dataFlow"],
  ["DATA_JOB", "dataJob"],
  ["CONTAINER", "container"],
  ["DATA_PRODUCT", "dataProduct"],
  ["DOMAIN", "domain"],
  ["GLOSSARY_TERM", "glossaryTerm"],
  ["GLOSSARY_NODE", "glossaryNode"],
  ["SCHEMA_FIELD", "schemaField"],
];

/** The kinds of entities that a value can be. */
export const VALUE_ENTITY_TYPES: typeof ENTITY_TYPES = [
  ["CORP_USER", "corpuser"],
  ["CORP_GROUP", "corpGroup"],
  ["TAG", "tag"],
  ...ENTITY_TYPES.filter(([type]) => type !== "SCHEMA_FIELD"),
];

export const entityTypeUrn = (name: string) => `${TYPE_PREFIX}${name}`;

/** Compares URNs of entity types, which may lack the namespace. */
export const isOfType = (urn: string, name: string) =>
  urn === entityTypeUrn(name) || urn === `urn:li:entityType:${name}`;

export const dataTypeUrn = (type: ValueType) => `urn:li:dataType:datahub.${type.toLowerCase()}`;

/** Types whose values can be limited to a list. */
export const canHaveAllowedValues = (type: StdDataType) => type === "STRING" || type === "NUMBER";

export const nameOfProperty = ({ definition }: PropertyDefinitionFragment) =>
  definition.displayName || definition.qualifiedName;

/** The search field with the values of a property. */
export const searchFieldOf = ({ definition }: ManagedPropertyFragment) =>
  `structuredProperties.${definition.qualifiedName}`;
