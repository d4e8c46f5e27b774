// Datasets for the tests: created, changed and read through the API.

import type { Page } from "@playwright/test";

import { datasetUrn, expect } from "./fixtures.ts";
import type { Docent } from "./fixtures.ts";

/** The address of a dataset's page. */
export const address = (urn: string) => `/dataset/${urn}`;

/** Creates a dataset. Each test that writes uses its own. */
export async function createDataset(
  docent: Docent,
  name: string,
  columns: readonly string[] = ["id", "name", "city"],
): Promise<string> {
  const urn = datasetUrn("hive", name);
  await docent.ingest(urn, "datasetProperties", {
    description: "An imported description.",
    customProperties: {},
  });
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

/** Changes the description of a dataset or column through the API. */
export const describe = (docent: Docent, urn: string, description: string, column?: string) =>
  docent.graphql(
    `mutation ($input: DescriptionUpdateInput!) { updateDescription(input: $input) }`,
    {
      input: {
        resourceUrn: urn,
        description,
        ...(column === undefined ? {} : { subResource: column, subResourceType: "DATASET_FIELD" }),
      },
    },
  );

/** The stored description of a dataset. */
export const storedDescription = async (docent: Docent, urn: string) => {
  const read = await docent.graphql<{
    dataset: { editableProperties: { description: string } | null };
  }>(`query ($urn: String!) { dataset(urn: $urn) { editableProperties { description } } }`, {
    urn,
  });
  return read.dataset.editableProperties?.description;
};

/** The stored description of a column. */
export const storedColumnDescription = async (docent: Docent, urn: string, column: string) => {
  type Fields = {
    editableSchemaFieldInfo: Array<{ fieldPath: string; description: string | null }>;
  };
  const read = await docent.graphql<{ dataset: { editableSchemaMetadata: Fields | null } }>(
    `query ($urn: String!) {
      dataset(urn: $urn) { editableSchemaMetadata { editableSchemaFieldInfo { fieldPath description } } }
    }`,
    { urn },
  );
  const fields = read.dataset.editableSchemaMetadata?.editableSchemaFieldInfo ?? [];
  return fields.find((field) => field.fieldPath === column)?.description;
};

/** Waits until all column saves have finished. */
export const saved = (page: Page) =>
  expect(page.locator("[role=row][aria-busy=true]")).toHaveCount(0);
