// Icons of data platforms: simple shapes drawn for Docent, not the vendors' logos, in a color that
// the platform keeps everywhere. To add one, add a line to `PLATFORMS`; others show their initials.

import { urnId } from "../names.ts";

/** Shapes on a grid of 16, by what they suggest. */
const SHAPES = {
  cylinder:
    "M3 4.2c0-1 2.2-1.7 5-1.7s5 .7 5 1.7-2.2 1.7-5 1.7-5-.7-5-1.7zM3 4.2v7.6c0 1 2.2 1.7 5 1.7s5-.7 5-1.7V4.2M3 8c0 1 2.2 1.7 5 1.7S13 9 13 8",
  disks: "M3 4.5h10M3 8h10M3 11.5h10M5 2.5v11M11 2.5v11",
  wave: "M2 10c2-5 4-5 6-2s4 3 6-2M2 13c2-3 4-3 6-1s4 2 6-1",
  ring: "M6 4.5h4a3.5 3.5 0 0 1 0 7H6a3.5 3.5 0 0 1 0-7z",
  flake: "M8 2v12M2.8 5l10.4 6M13.2 5 2.8 11M6.5 2.8 8 4.3l1.5-1.5M6.5 13.2 8 11.7l1.5 1.5",
  hexagonBars: "M8 1.8 13.5 5v6L8 14.2 2.5 11V5zM5.8 8.5v1.7M8 6.5v4.2M10.2 7.5v2.7",
  prism: "M8 2v12M5 4v8l3 2 3-2V4L8 2zM2.5 6.5v3.5M13.5 6.5v3.5",
  layers: "M8 2.2 14 5.2 8 8.2 2 5.2zM2 8l6 3 6-3M2 10.8l6 3 6-3",
  triangle: "M8 2.5 14 13H2zM8 7l3.3 6M8 7l-3.3 6",
  iceberg: "M8 2 11 7H5zM2 7h12M4 7l1.5 5L8 14l3-2.5L12 7",
  comb: "M5 2.5h3.5l1.7 3-1.7 3H5l-1.7-3zM10.2 5.5h2.6l1.2 2.5-1.5 3H8.5M8.5 8.5l1.7 2.5-1.7 2.5H5L3.3 11 5 8.5",
  spark: "M8 1.8 9.5 6.5 14.2 8 9.5 9.5 8 14.2 6.5 9.5 1.8 8 6.5 6.5z",
  orbit:
    "M8 6.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3zM8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2z",
  linked:
    "M5 5.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4zM11.5 2a1.7 1.7 0 1 0 0 3.4 1.7 1.7 0 0 0 0-3.4zM11.5 10.6a1.7 1.7 0 1 0 0 3.4 1.7 1.7 0 0 0 0-3.4zM7 7l3-2.3M7 9l3 2.3",
  stream: "M2 5h8a2 2 0 1 0-2-2M2 8h11M2 11h8a2 2 0 1 1-2 2",
  bucket: "M2.5 4.5h11L12 13.5H4zM2.5 4.5c0-1.2 2.5-2 5.5-2s5.5.8 5.5 2M5 8.5h6",
  folder: "M2 4.5v8h12v-7H8L6.5 3.5H2z",
  leaf: "M8 14V7M8 1.8C11.5 5 12 8 8 12.5 4 8 4.5 5 8 1.8z",
  eye: "M1.5 8C3.5 4.8 5.5 3.5 8 3.5s4.5 1.3 6.5 4.5c-2 3.2-4 4.5-6.5 4.5S3.5 11.2 1.5 8zM8 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4z",
  stripes: "M3 4.5h7a2 2 0 0 1 0 0M2 8h12M3 11.5h7M10 4.5h3M10 11.5h3",
  columns: "M3 3v10M6.3 3v10M9.6 3v10M13 6.5v3",
  pinwheel:
    "M8 8C8 4.5 6 2.5 3 2.5 3 5.5 5 8 8 8zM8 8c3.5 0 5.5-2 5.5-5-3 0-5.5 2-5.5 5zM8 8c0 3.5 2 5.5 5 5.5 0-3-2-5.5-5-5.5zM8 8c-3.5 0-5.5 2-5.5 5 3 0 5.5-2 5.5-5z",
  cross: "M3 3l3.5 5L3 13l5-3.5L13 13 9.5 8 13 3 8 6.5z",
  plus: "M8 2v5M8 9v5M2 8h5M9 8h5M4.5 3.5v2.5M3.2 4.7h2.6M11.5 10v2.5M10.2 11.3h2.6",
  bars: "M3 13V9.5M6.3 13V7M9.6 13V4.5M13 13V2.5",
  loop: "M8 8C6.5 5.5 5.5 5 4.5 5a3 3 0 0 0 0 6c1 0 2-.5 3.5-3s2.5-3 3.5-3a3 3 0 0 1 0 6c-1 0-2-.5-3.5-3z",
  dots: "M4 4h.01M8 4h.01M12 4h.01M4 8h.01M8 8h.01M12 8h.01M4 12h.01M8 12h.01M12 12h.01",
  lens: "M6.5 3.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM12.5 2.5a1 1 0 1 0 0 2 1 1 0 0 0 0-2z",
  graph: "M4 4h.01M12 5h.01M6 12h.01M12 12h.01M4 4l8 1-6 7zM12 5v7",
  brain:
    "M8 3v10M8 4.5C6.5 2.5 3.5 3 3.5 5.5 2 6.5 2 9 3.5 10c0 3 3 3.5 4.5 1.5M8 4.5c1.5-2 4.5-1.5 4.5 1C14 6.5 14 9 12.5 10c0 3-3 3.5-4.5 1.5",
  cloud: "M4.5 12.5a2.8 2.8 0 0 1-.3-5.6 4 4 0 0 1 7.7.6 2.5 2.5 0 0 1-.2 5z",
  seal: "M8 2a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM6.4 6l1.2 1.2 2-2.2M5.5 9.5 4.5 14 8 12.3 11.5 14l-1-4.5",
} as const;

/** The shape and the hue of each platform, by its id. */
const PLATFORMS: Readonly<Record<string, readonly [keyof typeof SHAPES, number]>> = {
  postgres: ["cylinder", 215],
  mysql: ["wave", 200],
  mariadb: ["wave", 25],
  mssql: ["disks", 5],
  oracle: ["ring", 8],
  teradata: ["cylinder", 28],
  vertica: ["cylinder", 190],
  "sap-hana": ["cylinder", 205],
  snowflake: ["flake", 198],
  bigquery: ["hexagonBars", 220],
  redshift: ["prism", 265],
  databricks: ["layers", 12],
  "delta-lake": ["triangle", 195],
  iceberg: ["iceberg", 210],
  hudi: ["stream", 205],
  hive: ["comb", 45],
  spark: ["spark", 20],
  trino: ["orbit", 320],
  presto: ["orbit", 215],
  athena: ["lens", 275],
  glue: ["linked", 280],
  dremio: ["orbit", 180],
  duckdb: ["lens", 50],
  clickhouse: ["columns", 48],
  druid: ["stream", 185],
  pinot: ["columns", 345],
  kafka: ["linked", 240],
  kinesis: ["stream", 270],
  pulsar: ["stream", 215],
  s3: ["bucket", 140],
  gcs: ["bucket", 215],
  abs: ["bucket", 205],
  hdfs: ["folder", 50],
  file: ["folder", 220],
  mongodb: ["leaf", 130],
  cassandra: ["eye", 195],
  dynamodb: ["disks", 225],
  redis: ["layers", 5],
  elasticsearch: ["stripes", 175],
  neo4j: ["graph", 205],
  airflow: ["pinwheel", 185],
  dagster: ["orbit", 250],
  prefect: ["layers", 220],
  dbt: ["cross", 15],
  fivetran: ["stream", 220],
  nifi: ["linked", 195],
  tableau: ["plus", 220],
  looker: ["lens", 265],
  powerbi: ["bars", 46],
  superset: ["loop", 190],
  metabase: ["dots", 212],
  mode: ["bars", 145],
  redash: ["bars", 10],
  qlik: ["lens", 125],
  mlflow: ["brain", 205],
  sagemaker: ["brain", 170],
  feast: ["brain", 15],
  vertexai: ["brain", 220],
  salesforce: ["cloud", 205],
  "great-expectations": ["seal", 18],
};

/** A hue for platforms that have no shape, the same for the same name. */
function hueOf(id: string): number {
  let sum = 0;
  for (const character of id) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 360;
  return sum;
}

/** The icon of a data platform; its name must stand beside it. */
export function PlatformIcon({ urn }: { readonly urn: string }) {
  const id = urnId(urn).toLowerCase();
  const [shape, hue] = PLATFORMS[id] ?? [undefined, hueOf(id)];
  return (
    <span
      className="platform-icon"
      style={{ "--hue": hue } as React.CSSProperties}
      // Drawn by the style sheet: as text, they would be part of the name of a button.
      data-initials={shape === undefined ? [...id].slice(0, 2).join("") : undefined}
      aria-hidden="true"
    >
      {shape !== undefined && (
        <svg viewBox="0 0 16 16" focusable="false">
          <path d={SHAPES[shape]} />
        </svg>
      )}
    </span>
  );
}
