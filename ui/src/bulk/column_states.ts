// The columns of datasets with their descriptions, for the grid and for files.

import type { BulkColumnsQuery } from "../generated/operations.ts";
import type { Permission } from "./entity_state.ts";

type Entity = NonNullable<NonNullable<BulkColumnsQuery["entities"]>[number]>;
export type DatasetColumns = Extract<Entity, { readonly schemaMetadata?: unknown }>;

export interface ColumnState {
  readonly path: string;
  readonly type: string;
  readonly imported: string;
  readonly edited: string;
}

export function columnsOf(dataset: DatasetColumns): readonly ColumnState[] {
  const edits = dataset.editableSchemaMetadata?.editableSchemaFieldInfo ?? [];
  const byPath = new Map(edits.map((field) => [field.fieldPath, field.description ?? ""]));
  return (dataset.schemaMetadata?.fields ?? []).map((field) => ({
    path: field.fieldPath,
    type: field.nativeDataType ?? field.type.toLowerCase(),
    imported: field.description ?? "",
    edited: byPath.get(field.fieldPath) ?? "",
  }));
}

export function columnPermission(dataset: DatasetColumns): Permission {
  if (dataset.privileges?.canEditSchemaFieldDescription === true) return "edit";
  return dataset.privileges?.canProposeChanges === true ? "propose" : "none";
}
