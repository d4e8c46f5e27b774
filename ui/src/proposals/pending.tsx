import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { run } from "../api/client.ts";
import { loadChunk } from "../components/chunks.ts";
import { ProposalsForDocument, ProposedColumnsDocument } from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { proposingTexts } from "../proposing_texts.ts";
import { texts } from "../texts.ts";

/** The parts of a page that show whether a change of them is proposed, by aspect. */
const PARTS = {
  ownership: "owners",
  domains: "domain",
  globalTags: "tags",
  glossaryTerms: "terms",
  institutionalMemory: "links",
  domainProperties: "description",
  glossaryTermInfo: "description",
  glossaryNodeInfo: "description",
  tagProperties: "description",
  dataProductProperties: "description",
  corpGroupEditableInfo: "description",
  editableDatasetProperties: "description",
  editableContainerProperties: "description",
  editableDashboardProperties: "description",
  editableChartProperties: "description",
  editableDataFlowProperties: "description",
  editableDataJobProperties: "description",
} as const;

const COLUMNS = "editableSchemaMetadata";

type Part = (typeof PARTS)[keyof typeof PARTS];

const partOf = (aspect: string): Part | undefined =>
  Object.hasOwn(PARTS, aspect) ? PARTS[aspect as keyof typeof PARTS] : undefined;

const usePending = (urn: string) =>
  useApiQuery(ProposalsForDocument, { urn }).data?.listActionRequests ?? undefined;

/** Leads to the pending proposals for an entity, if there are any. */
export function PendingProposals({ urn }: { readonly urn: string }) {
  const pending = usePending(urn)?.total ?? 0;
  if (pending === 0) return null;
  return (
    <p>
      <Link className="pending-link" href={addresses.proposals({ entity: urn })}>
        {texts.proposedChanges(pending)}
      </Link>
    </p>
  );
}

/** Marks a part of an entity with pending proposals, and leads to them. */
export function PendingMark({ urn, part }: { readonly urn: string; readonly part: Part }) {
  const requests = usePending(urn)?.actionRequests ?? [];
  const proposers = requests
    .filter(({ changes }) =>
      changes.some((change) => change.urn === urn && partOf(change.aspectName) === part),
    )
    .map(({ proposer }) => nameOf(proposer));
  if (proposers.length === 0) return null;
  return (
    <p>
      <Link className="pending-mark" href={addresses.proposals({ entity: urn })}>
        {proposingTexts.pending([...new Set(proposers)])}
      </Link>
    </p>
  );
}

const NO_COLUMNS: ReadonlyMap<string, string> = new Map();

/** What to say about the columns with pending proposals, by path. */
export function usePendingColumns(urn: string): ReadonlyMap<string, string> {
  const isAny = usePending(urn)?.actionRequests.some(({ changes }) =>
    changes.some((change) => change.urn === urn && change.aspectName === COLUMNS),
  );
  const read = useQuery({
    queryKey: [ProposedColumnsDocument.text, { urn }],
    queryFn: async ({ signal }) => {
      const { changedColumns } = await loadChunk(import("./changes.ts"));
      const reply = await run(ProposedColumnsDocument, { urn }, signal);
      const proposers = new Map<string, Set<string>>();
      for (const { proposer, changes } of reply.listActionRequests?.actionRequests ?? []) {
        const own = changes.filter((change) => change.urn === urn && change.aspectName === COLUMNS);
        for (const path of own.flatMap(changedColumns))
          proposers.set(path, (proposers.get(path) ?? new Set()).add(nameOf(proposer)));
      }
      return new Map(
        [...proposers].map(([path, names]) => [path, proposingTexts.pending([...names])]),
      );
    },
    enabled: isAny === true,
  });
  return (isAny === true ? read.data : undefined) ?? NO_COLUMNS;
}
