import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { ProposalsForDocument } from "../generated/operations.ts";
import { texts } from "../texts.ts";

/** Leads to the pending proposals for an entity, if there are any. */
export function PendingProposals({ urn }: { readonly urn: string }) {
  const pending = useApiQuery(ProposalsForDocument, { urn }).data?.listActionRequests?.total ?? 0;
  if (pending === 0) return null;
  return (
    <p>
      <Link href={addresses.proposals({ entity: urn })}>{texts.proposedChanges(pending)}</Link>
    </p>
  );
}
