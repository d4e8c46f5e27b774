// Datasets for stories: made by ingestion, changed and read behind the back of the person at the page.

import type { Page } from "@playwright/test";

import { datasetUrn, expect } from "./docent.ts";
import type { Docent } from "./docent.ts";

/** The page of a dataset. */
export const address = (urn: string) => `/dataset/${urn}`;

/** A dataset of its own for each story that writes. */
export async function made(
  docent: Docent,
  name: string,
  columns: readonly string[] = ["id", "name", "city"],
): Promise<string> {
  const urn = datasetUrn("hive", name);
  await docent.ingest(urn, "datasetProperties", { description: "What ingestion said.", customProperties: {} });
  await docent.ingest(urn, "schemaMetadata", {
    schemaName: name,
    platform: "urn:li:dataPlatform:hive",
    version: 0,
    hash: "",
    platformSchema: { "com.linkedin.schema.OtherSchema": { rawSchema: "" } },
    fields: columns.map((path) => ({
      fieldPath: path,
      type: { type: { "com.linkedin.schema.StringType": {} } },
      nativeDataType: "string",
    })),
  });
  return urn;
}

/** Describes a dataset, or one of its columns, behind the back of the person at the page. */
export const describe = (docent: Docent, urn: string, description: string, column?: string) =>
  docent.ask(`mutation ($input: DescriptionUpdateInput!) { updateDescription(input: $input) }`, {
    input: {
      resourceUrn: urn,
      description,
      ...(column === undefined ? {} : { subResource: column, subResourceType: "DATASET_FIELD" }),
    },
  });

/** The description that is stored. */
export const described = async (docent: Docent, urn: string) => {
  const read = await docent.ask<{ dataset: { editableProperties: { description: string } | null } }>(
    `query ($urn: String!) { dataset(urn: $urn) { editableProperties { description } } }`,
    { urn },
  );
  return read.dataset.editableProperties?.description;
};

/** The description of a column that is stored. */
export const describedColumn = async (docent: Docent, urn: string, column: string) => {
  type Fields = { editableSchemaFieldInfo: Array<{ fieldPath: string; description: string | null }> };
  const read = await docent.ask<{ dataset: { editableSchemaMetadata: Fields | null } }>(
    `query ($urn: String!) {
      dataset(urn: $urn) { editableSchemaMetadata { editableSchemaFieldInfo { fieldPath description } } }
    }`,
    { urn },
  );
  const fields = read.dataset.editableSchemaMetadata?.editableSchemaFieldInfo ?? [];
  return fields.find((field) => field.fieldPath === column)?.description;
};

/** Columns show what was typed at once: this waits until it is stored. */
export const saved = (page: Page) => expect(page.locator("[role=row][aria-busy=true]")).toHaveCount(0);
