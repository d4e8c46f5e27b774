import { useRef, useState } from "react";
import { Link, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { refreshAll, useApiMutation, useApiQuery, useMe } from "../api/cache.ts";
import { ApiError } from "../api/client.ts";
import { EntityLink } from "../components/common.tsx";
import { useFocusFallback } from "../components/focus.ts";
import { FormattedText } from "../components/formatted_text.tsx";
import { Pagination, pageFromAddress } from "../components/pagination.tsx";
import { EmptyState, LoadingOrError, StaleNotice, useTitle } from "../components/states.tsx";
import {
  AcceptProposalDocument,
  EntityNamesDocument,
  ProposalsDocument,
  RejectProposalDocument,
} from "../generated/operations.ts";
import { nameOf, type Nameable } from "../names.ts";
import { referencesOf } from "../proposals/changes.ts";
import { useImported, type Imported } from "../proposals/imported.ts";
import {
  ProposalItem,
  RejectDialog,
  subjectOf,
  type Names,
  type Proposal,
} from "../proposals/proposal.tsx";
import { proposalTexts } from "../proposal_texts.ts";

const PAGE_SIZE = 20;
/** More names are not worth a longer request: the rest is shown as stored. */
const MAX_NAMES = 200;

/** How the last decision of the user ended. */
interface Decided {
  readonly urn: string;
  readonly message: string;
  /** Whether the message holds only if the proposal is not in the list any more. */
  readonly ifGone: boolean;
}

export default function ProposalsPage() {
  const parameters = new URLSearchParams(useSearch());
  const isDecided = parameters.get("show") === "decided";
  const entity = parameters.get("entity");
  const page = pageFromAddress(parameters, PAGE_SIZE);
  const words = proposalTexts;
  useTitle(isDecided ? words.titleDecided : words.title);
  const read = useApiQuery(
    ProposalsDocument,
    {
      input: {
        status: isDecided ? "COMPLETED" : "PENDING",
        start: (page - 1) * PAGE_SIZE,
        count: PAGE_SIZE,
        resourceUrn: entity,
      },
    },
    { keepPrevious: true },
  );
  const found = read.data?.listActionRequests ?? undefined;
  const proposals = found?.actionRequests ?? [];
  const names = useNames(proposals, entity);
  const imported = useImported(proposals.flatMap((proposal) => proposal.changes));
  return (
    <>
      <h1 className="settings-title">{words.title}</h1>
      <nav className="tabs" aria-label={words.tabsLabel}>
        <Link href={addresses.proposals({ entity })} aria-current={isDecided ? undefined : "page"}>
          {words.tabs.pending}
        </Link>
        <Link
          href={addresses.proposals({ entity, isDecided: true })}
          aria-current={isDecided ? "page" : undefined}
        >
          {words.tabs.decided}
        </Link>
      </nav>
      {entity !== null && (
        <p>
          <FormattedText
            text={words.filtered}
            values={{ entity: <EntityLink entity={names.get(entity) ?? { urn: entity }} /> }}
          />{" "}
          <Link href={addresses.proposals({ isDecided })}>{words.showAll}</Link>
        </p>
      )}
      {found === undefined && <LoadingOrError read={read} />}
      <StaleNotice read={read} />
      {found?.total === 0 && (
        <EmptyState
          title={isDecided ? words.noneDecided : words.none}
          hint={isDecided ? words.noneDecidedHint : words.noneHint}
        />
      )}
      {/* Also for an empty list: the message about the last decision stays. */}
      {found !== undefined && (
        <ProposalList
          key={String(isDecided)}
          proposals={proposals}
          names={names}
          imported={imported}
        />
      )}
      {found !== undefined && (
        <Pagination
          page={page}
          size={PAGE_SIZE}
          total={found.total}
          addressOf={(number) => addresses.proposals({ entity, isDecided }, number)}
        />
      )}
    </>
  );
}

/** The entities that the changes refer to, such as tags and owners. */
function useNames(proposals: readonly Proposal[], entity: string | null): Names {
  const references = referencesOf(proposals.flatMap((proposal) => proposal.changes));
  const urns = [...(entity === null ? [] : [entity]), ...references].slice(0, MAX_NAMES);
  const read = useApiQuery(
    EntityNamesDocument,
    { urns },
    { enabled: urns.length > 0, keepPrevious: true },
  );
  const entities: readonly ((Nameable & { readonly urn: string }) | null)[] =
    read.data?.entities ?? [];
  return new Map(entities.flatMap((named) => (named === null ? [] : [[named.urn, named]])));
}

function ProposalList({
  proposals,
  names,
  imported,
}: {
  readonly proposals: readonly Proposal[];
  readonly names: Names;
  readonly imported: Imported;
}) {
  const me = useMe().data?.me?.corpUser.urn;
  const [rejecting, setRejecting] = useState<Proposal | null>(null);
  const [last, setLast] = useState<Decided | null>(null);
  const accept = useApiMutation(AcceptProposalDocument);
  const reject = useApiMutation(RejectProposalDocument);
  const list = useRef<HTMLOListElement>(null);
  useFocusFallback(list, () => list.current?.querySelector("button"));
  const words = proposalTexts;
  const isOwn = (proposal: Proposal) => proposal.proposer.urn === me;

  const finish = (proposal: Proposal, message: string) => ({
    onSuccess: () => {
      setRejecting(null);
      setLast({ urn: proposal.urn, message, ifGone: false });
    },
    onError: (error: Error) => {
      if (!isConflict(error)) return;
      const gone = words.decidedByOthers(subjectOf(proposal));
      setLast({ urn: proposal.urn, message: gone, ifGone: true });
      void refreshAll();
    },
  });
  const acceptProposal = (proposal: Proposal) => {
    setLast(null);
    accept.mutate({ urn: proposal.urn }, finish(proposal, words.accepted(subjectOf(proposal))));
  };
  const rejectProposal = (proposal: Proposal, note: string) => {
    const done = isOwn(proposal) ? words.withdrawn : words.rejected;
    setLast(null);
    reject.mutate(
      { urn: proposal.urn, note: note === "" ? null : note },
      finish(proposal, done(subjectOf(proposal))),
    );
  };
  const errorOf = (proposal: Proposal): Error | null => {
    if (accept.variables?.urn !== proposal.urn || accept.error === null) return null;
    if (!isConflict(accept.error)) return accept.error;
    const { proposer } = proposal;
    return new Error(isOwn(proposal) ? words.conflictOfOwn : words.conflict(nameOf(proposer)));
  };
  const isShown = last !== null && !(last.ifGone && proposals.some(({ urn }) => urn === last.urn));
  // A dialog about a proposal that somebody else has decided would only fail again.
  const isGone = isConflict(reject.error) && !proposals.some(({ urn }) => urn === rejecting?.urn);
  return (
    <>
      <div role="status">{isShown && <p className="notice">{last.message}</p>}</div>
      <ol className="versions proposals" ref={list}>
        {proposals.map((proposal) => (
          <ProposalItem
            key={proposal.urn}
            proposal={proposal}
            names={names}
            imported={imported}
            isOwn={isOwn(proposal)}
            isBusy={accept.isPending || reject.isPending}
            error={errorOf(proposal)}
            onAccept={() => acceptProposal(proposal)}
            onReject={() => {
              reject.reset();
              setRejecting(proposal);
            }}
          />
        ))}
      </ol>
      {rejecting !== null && !isGone && (
        <RejectDialog
          proposal={rejecting}
          isOwn={isOwn(rejecting)}
          isBusy={reject.isPending}
          error={reject.error}
          onReject={(note) => rejectProposal(rejecting, note)}
          onClose={() => setRejecting(null)}
        />
      )}
    </>
  );
}

const CONFLICT = 409;

const isConflict = (error: Error | null) => error instanceof ApiError && error.code === CONFLICT;
