// The imported descriptions that a proposal replaces: to who decides it, they are what it changes.

import { useApiQuery } from "../api/cache.ts";
import { ImportedDescriptionsDocument } from "../generated/operations.ts";
import {
  describedFirst,
  isFirstDescription,
  type AspectChange,
  type Difference,
} from "./changes.ts";

/** More entities are not worth a longer request. */
const MAX_ENTITIES = 50;

/** Imported descriptions by URN, then by the path of the column; "" for the entity itself. */
export type Imported = ReadonlyMap<string, ReadonlyMap<string, string>>;

export function useImported(changes: readonly AspectChange[]): Imported {
  const urns = describedFirst(changes).slice(0, MAX_ENTITIES);
  const read = useApiQuery(
    ImportedDescriptionsDocument,
    { urns },
    { enabled: urns.length > 0, keepPrevious: true },
  );
  return new Map(
    (read.data?.entities ?? []).flatMap((entity) => {
      if (entity === null) return [];
      const texts = new Map([["", ("imported" in entity && entity.imported?.description) || ""]]);
      const fields = "schemaMetadata" in entity ? (entity.schemaMetadata?.fields ?? []) : [];
      for (const { fieldPath, description } of fields) texts.set(fieldPath, description ?? "");
      return [[entity.urn, texts] as const];
    }),
  );
}

/** The imported description that a difference replaces, if there is one. */
export function replacedBy(
  difference: Difference,
  urn: string,
  imported: Imported,
): string | undefined {
  if (!isFirstDescription(difference)) return undefined;
  return imported.get(urn)?.get(difference.describes ?? "") || undefined;
}
