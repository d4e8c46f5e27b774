import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { useApiQuery } from "../api/cache.ts";
import { ApiError } from "../api/client.ts";
import { RelativeTime } from "../components/common.tsx";
import { LoadingOrError, StaleNotice } from "../components/states.tsx";
import {
  EntityCountsDocument,
  ServerStatusDocument,
  type ServerStatusQuery,
} from "../generated/operations.ts";
import { adminTexts } from "../admin_texts.ts";
import { policyTexts } from "../policy_texts.ts";
import { texts } from "../texts.ts";
import { useRights } from "../rights.ts";

/** The state of the server: version, store, index, sizes, what the catalog has, and settings. */
export default function Server() {
  const words = adminTexts.server;
  const rights = useRights();
  const read = useApiQuery(ServerStatusDocument, {});
  const status = read.data?.serverStatus;
  return (
    <>
      <p className="hint admin-intro">{words.intro}</p>
      {status === undefined && <LoadingOrError read={read} />}
      <StaleNotice read={read} />
      {status !== undefined && (
        <section aria-labelledby="server-state">
          <div className="section-header">
            <h3 id="server-state">{words.state}</h3>
            <button type="button" disabled={read.isFetching} onClick={() => void read.refetch()}>
              {words.refresh}
            </button>
          </div>
          <dl className="facts">
            <Fact name={words.version}>{status.version}</Fact>
            <Fact name={words.uptime}>
              <RelativeTime time={status.startedAt} />
            </Fact>
            <Fact name={words.engine}>{status.store.engine}</Fact>
            <Fact name={words.databaseSize}>{adminTexts.bytes(status.store.sizeBytes)}</Fact>
            <Fact name={words.writable}>{status.store.isWritable ? words.yes : words.no}</Fact>
            <IndexFacts index={status.searchIndex} />
          </dl>
        </section>
      )}
      <Contents />
      <section aria-labelledby="server-settings">
        <h3 id="server-settings">{words.settings}</h3>
        {rights.has("MANAGE_SYSTEM_OPERATIONS") ? (
          <Settings />
        ) : (
          <p className="hint">{words.settingsNotAllowed}</p>
        )}
      </section>
    </>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function IndexFacts({
  index,
}: {
  readonly index: ServerStatusQuery["serverStatus"]["searchIndex"];
}) {
  const words = adminTexts.server;
  if (index === null) return <Fact name={words.index}>{words.noIndex}</Fact>;
  const state =
    index.built !== null
      ? words.building(index.built)
      : index.pendingChanges === 0
        ? words.current
        : words.pending(index.pendingChanges);
  return (
    <>
      <Fact name={words.index}>{state}</Fact>
      <Fact name={words.indexSize}>
        {index.sizeBytes === null ? words.inMemory : adminTexts.bytes(index.sizeBytes)}
      </Fact>
    </>
  );
}

/** How many entities the catalog has, by type. */
function Contents() {
  const words = adminTexts.server;
  const read = useApiQuery(EntityCountsDocument, {});
  const found = read.data?.searchAcrossEntities;
  const facet = found?.facets?.find(({ field }) => field === "_entityType");
  return (
    <section aria-labelledby="server-contents">
      <h3 id="server-contents">{words.contents}</h3>
      {read.data === undefined && <LoadingOrError read={read} />}
      <StaleNotice read={read} />
      {found !== undefined && found !== null && (
        <dl className="facts">
          <Fact name={words.total}>{texts.number(found.total)}</Fact>
          {facet?.aggregations.map(({ value, count }) => (
            <Fact key={value} name={typeName(value)}>
              {texts.number(count)}
            </Fact>
          ))}
        </dl>
      )}
    </section>
  );
}

/** `DATA_FLOW` is `Pipelines`. */
function typeName(type: string): string {
  const camel = type.toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  const known = policyTexts.types[camel] ?? policyTexts.types[camel.toLowerCase()];
  const name = known ?? type.toLowerCase().replaceAll("_", " ");
  return name.charAt(0).toUpperCase() + name.slice(1);
}

const SETTINGS_PATH = "/openapi/v1/system-info/properties/simple";

async function readSettings(signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
  const response = await fetch(SETTINGS_PATH, { credentials: "same-origin", signal });
  if (!response.ok) throw new ApiError(texts.errors.unexpected(response.status), response.status);
  return (await response.json()) as Readonly<Record<string, string>>;
}

/** What the server was started with. Only the REST API has it, as in DataHub. */
function Settings() {
  const words = adminTexts.server;
  const read = useQuery({
    queryKey: [SETTINGS_PATH],
    queryFn: ({ signal }) => readSettings(signal),
  });
  if (read.data === undefined) return <LoadingOrError read={read} />;
  return (
    <>
      <p className="hint">{words.settingsHint}</p>
      <StaleNotice read={read} />
      <dl className="facts settings-facts">
        {Object.entries(read.data).map(([name, value]) => (
          <Fact key={name} name={name}>
            {value === "" ? <span className="hint">{words.notSet}</span> : <code>{value}</code>}
          </Fact>
        ))}
      </dl>
    </>
  );
}
