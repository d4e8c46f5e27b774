// Lineage for the tests: tables, a task, a chart and a dashboard, and graphs of many tables.

import { datasetUrn, type Docent } from "./fixtures.ts";

const STAMP = { time: 0, actor: "urn:li:corpuser:datahub" };
const NOT_MODIFIED = { created: STAMP, lastModified: STAMP };

export const table = (name: string) => datasetUrn("hive", name);
export const columnOf = (urn: string, path: string) => `urn:li:schemaField:(${urn},${path})`;
export const lineageAddress = (urn: string) => `/dataset/${urn}/Lineage`;

export interface Warehouse {
  readonly raw: string;
  readonly clean: string;
  readonly mart: string;
  readonly archive: string;
  readonly job: string;
  readonly chart: string;
  readonly dashboard: string;
}

/**
 * `raw → load (task) → clean → mart → chart → dashboard`, and `clean → archive`. The column `id` of
 * `clean` becomes `customer` of `mart`.
 */
export async function createWarehouse(docent: Docent, name: string): Promise<Warehouse> {
  const [raw, clean, mart, archive] = ["raw", "clean", "mart", "archive"].map((part) =>
    table(`${name}_${part}`),
  ) as [string, string, string, string];
  const job = `urn:li:dataJob:(urn:li:dataFlow:(airflow,${name},prod),load)`;
  const chart = `urn:li:chart:(looker,${name}.revenue)`;
  const dashboard = `urn:li:dashboard:(looker,${name}.board)`;
  for (const [urn, columns] of [
    [raw, ["id"]],
    [clean, ["id", "city"]],
    [mart, ["customer", "city"]],
    [archive, ["id"]],
  ] as const)
    await createTable(docent, urn, columns);
  await docent.ingest(job, "dataJobInfo", {
    name: `${name} load`,
    type: { string: "SQL" },
    customProperties: {},
  });
  await docent.ingest(job, "dataJobInputOutput", { inputDatasets: [raw], outputDatasets: [clean] });
  await docent.ingest(mart, "upstreamLineage", {
    upstreams: [{ dataset: clean, type: "TRANSFORMED", auditStamp: STAMP }],
    fineGrainedLineages: [
      {
        upstreamType: "FIELD_SET",
        upstreams: [columnOf(clean, "id")],
        downstreamType: "FIELD",
        downstreams: [columnOf(mart, "customer")],
      },
    ],
  });
  await docent.ingest(mart, "deprecation", {
    deprecated: true,
    note: "",
    actor: "urn:li:corpuser:datahub",
  });
  await docent.ingest(mart, "ownership", {
    owners: [{ owner: "urn:li:corpuser:shop-developer", type: "DATAOWNER" }],
    lastModified: STAMP,
  });
  // An edge of 2020.
  await docent.ingest(archive, "upstreamLineage", {
    upstreams: [
      {
        dataset: clean,
        type: "COPY",
        auditStamp: { ...STAMP, time: Date.UTC(2020, 5, 1) },
        created: { ...STAMP, time: Date.UTC(2020, 0, 1) },
      },
    ],
  });
  await docent.ingest(chart, "chartInfo", {
    title: `${name} revenue`,
    description: "",
    lastModified: NOT_MODIFIED,
    inputs: [{ string: mart }],
    customProperties: {},
  });
  await docent.ingest(dashboard, "dashboardInfo", {
    title: `${name} board`,
    description: "",
    lastModified: NOT_MODIFIED,
    charts: [chart],
    datasets: [],
    customProperties: {},
  });
  return { raw, clean, mart, archive, job, chart, dashboard };
}

export async function createTable(
  docent: Docent,
  urn: string,
  columns: readonly string[] = ["id"],
): Promise<void> {
  await docent.ingest(urn, "schemaMetadata", {
    schemaName: "table",
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
}

/** Sets the upstream tables of many tables in one request. */
export async function createTables(
  docent: Docent,
  upstreams: ReadonlyMap<string, readonly string[]>,
): Promise<void> {
  const entities = [...upstreams].map(([urn, of]) => ({
    urn,
    upstreamLineage: {
      value: {
        upstreams: of.map((dataset) => ({ dataset, type: "TRANSFORMED", auditStamp: STAMP })),
      },
    },
  }));
  const reply = await fetch(`${docent.address}/openapi/v3/entity/dataset?async=false`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${docent.token}` },
    body: JSON.stringify(entities),
  });
  if (!reply.ok) throw new Error(await reply.text());
}
