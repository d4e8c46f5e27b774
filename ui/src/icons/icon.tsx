// Icons for actions and for the kinds of entities, drawn for Docent on a grid of 16. To add one, add
// its strokes to `STROKES`. Icons are decoration: text or an accessible name always stands beside.

/** The `d` attribute of each icon's path. */
const STROKES = {
  // Kinds of entities.
  table: "M2.5 3.5h11v9h-11zM2.5 6.5h11M2.5 9.5h11M6.5 6.5v6",
  view: "M1.5 8C3.2 5.2 5.4 3.8 8 3.8s4.8 1.4 6.5 4.2C12.8 10.8 10.6 12.2 8 12.2S3.2 10.8 1.5 8zM8 6.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6z",
  dashboard: "M2.5 2.5h4.5v6h-4.5zM9.5 2.5h4v3h-4zM9.5 8h4v5.5h-4zM2.5 11h4.5v2.5h-4.5z",
  chart: "M2.5 2.5v11h11M5.5 11V8M8.5 11V5M11.5 11V7",
  pipeline:
    "M4 2.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3zM12 10.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3zM5.5 4H9a2 2 0 0 1 0 4H7a2 2 0 0 0 0 4h3.5",
  task: "M2.5 4.5 4 6l2.5-3M2.5 11 4 12.5l2.5-3M9 5h4.5M9 11.5h4.5",
  container:
    "M2 4.5v7.5a1 1 0 0 0 1 1h10a1 1 0 0 0 1-1v-6a1 1 0 0 0-1-1H8L6.5 3.5H3a1 1 0 0 0-1 1z",
  tag: "M2.5 2.5h5l6 6-5 5-6-6zM5.4 5.4h.01",
  term: "M3 3.2C4.8 2.6 6.5 2.8 8 4c1.5-1.2 3.2-1.4 5-.8v9c-1.8-.6-3.5-.4-5 .8-1.5-1.2-3.2-1.4-5-.8zM8 4v9",
  termGroup: "M3 2.5v11M3 5.5h3M3 11.5h3M6 3.5h7.5v4H6zM6 9.5h7.5v4H6z",
  person:
    "M8 2.5a2.7 2.7 0 1 0 0 5.4 2.7 2.7 0 0 0 0-5.4zM2.8 13.5c.5-2.4 2.4-3.6 5.2-3.6s4.7 1.2 5.2 3.6",
  group:
    "M6 3a2.3 2.3 0 1 0 0 4.6A2.3 2.3 0 0 0 6 3zM1.5 13c.4-2.2 2-3.3 4.5-3.3s4.1 1.1 4.5 3.3M10.5 3.4a2.1 2.1 0 0 1 0 3.8M12 9.8c1.4.4 2.2 1.5 2.5 3.2",
  domain: "M8 2 13.5 5v6L8 14l-5.5-3V5zM2.5 5 8 8l5.5-3M8 8v6",
  product: "M2.5 5.5h11v8h-11zM2.5 5.5 4 2.5h8l1.5 3M6 8.5h4",
  platform:
    "M3 4c0-1 2.2-1.7 5-1.7s5 .7 5 1.7-2.2 1.7-5 1.7S3 5 3 4zM3 4v8c0 1 2.2 1.7 5 1.7s5-.7 5-1.7V4M3 8c0 1 2.2 1.7 5 1.7S13 9 13 8",
  file: "M4 2h5l3.5 3.5V14H4zM9 2v3.5h3.5",
  // Actions.
  add: "M8 3v10M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  edit: "M3 13l.6-2.8 7.2-7.2 2.2 2.2-7.2 7.2zM9.5 4.3l2.2 2.2",
  history: "M2.8 8a5.2 5.2 0 1 0 1.6-3.8M4.5 1.8v2.6h2.6M8 5.2V8l2 1.3",
  copy: "M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1",
  check: "M3 8.5l3.2 3.2L13 4.8",
  more: "M3.5 7.5a.5.5 0 1 0 0 1 .5.5 0 0 0 0-1zM8 7.5a.5.5 0 1 0 0 1 .5.5 0 0 0 0-1zM12.5 7.5a.5.5 0 1 0 0 1 .5.5 0 0 0 0-1z",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.3 10.3l3.2 3.2",
  down: "M4 6l4 4 4-4",
  right: "M6 4l4 4-4 4",
  external: "M9 3h4v4M13 3 7.5 8.5M11 9.5V13H3V5h3.5",
  link: "M6.8 9.2a2.5 2.5 0 0 1 0-3.5l2-2a2.5 2.5 0 0 1 3.5 3.5l-1 1M9.2 6.8a2.5 2.5 0 0 1 0 3.5l-2 2a2.5 2.5 0 0 1-3.5-3.5l1-1",
  remove: "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.5 9h6l.5-9M7 7v4M9 7v4",
  undo: "M3 6h6.5a3.5 3.5 0 0 1 0 7H6M5.5 3.5 3 6l2.5 2.5",
  key: "M5.5 7.5a2.7 2.7 0 1 0 0 5.4 2.7 2.7 0 0 0 0-5.4zM7.5 8.5 13 3M10.5 5.5l2 2",
  warning: "M8 2.5 14.5 13.5h-13zM8 6.5v3.2M8 11.6h.01",
  mail: "M2 3.5h12v9H2zM2 4.5l6 4.5 6-4.5",
  code: "M5.5 4.5 2 8l3.5 3.5M10.5 4.5 14 8l-3.5 3.5",
  changes: "M2 8.5h2.5l2-5 3 9.5 2-4.5H14",
  filter: "M2 3.5h12L9.5 8.5v4L6.5 14V8.5z",
  help: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM6.2 6.3a1.8 1.8 0 1 1 2.6 1.7c-.6.3-.8.6-.8 1.2M8 11.4h.01",
  settings: "M2.5 5h6M11.5 5h2M10 3.5v3M2.5 11h2M7.5 11h6M6 9.5v3",
  signOut: "M6.5 2.5h-4v11h4M10.5 5l3 3-3 3M13.5 8H6",
} as const;

export type IconName = keyof typeof STROKES;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={STROKES[name]} />
    </svg>
  );
}

/** The icon as a CSS image, for `mask`. A row of a long table needs no elements for it. */
export function iconImage(name: IconName): string {
  const shape = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="none" stroke="black" stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round"><path d="${STROKES[name]}"/></svg>`;
  return `url("data:image/svg+xml,${encodeURIComponent(shape)}")`;
}

/** The icon of each entity type of the API. */
const KINDS: Readonly<Record<string, IconName>> = {
  DATASET: "table",
  DOMAIN: "domain",
  CONTAINER: "container",
  TAG: "tag",
  GLOSSARY_TERM: "term",
  GLOSSARY_NODE: "termGroup",
  CORP_USER: "person",
  CORP_GROUP: "group",
  DASHBOARD: "dashboard",
  CHART: "chart",
  DATA_FLOW: "pipeline",
  DATA_JOB: "task",
  DATA_PRODUCT: "product",
  DATA_PLATFORM: "platform",
};

/** The icon of an entity's type; views and files differ from tables by their subtype. */
export function KindIcon({
  type,
  subType,
}: {
  readonly type: string;
  readonly subType?: string | undefined;
}) {
  const of = subType?.toLowerCase() ?? "";
  if (type === "DATASET" && of.includes("view")) return <Icon name="view" />;
  if (type === "DATASET" && of.includes("file")) return <Icon name="file" />;
  return <Icon name={KINDS[type] ?? "file"} />;
}
