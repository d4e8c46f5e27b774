import { Fragment, type FormEvent } from "react";

import { Byline, EntityLink } from "../components/common.tsx";
import { Dialog } from "../components/dialog.tsx";
import { FormattedText } from "../components/formatted_text.tsx";
import { ErrorMessage } from "../components/states.tsx";
import { TextDiff } from "../components/text_diff.tsx";
import type { ProposalsQuery } from "../generated/operations.ts";
import { nameOf, urnId, type Nameable } from "../names.ts";
import { proposalTexts } from "../proposal_texts.ts";
import { texts } from "../texts.ts";
import { differencesOf, type Content, type Difference } from "./changes.ts";
import { replacedBy, type Imported } from "./imported.ts";

type List = NonNullable<ProposalsQuery["listActionRequests"]>;
export type Proposal = List["actionRequests"][number];
type Change = Proposal["changes"][number];

/** Entities by URN, to show their names. */
export type Names = ReadonlyMap<string, Nameable & { readonly urn: string }>;

/** More differences of one entity are only counted. */
const MAX_DIFFERENCES = 30;

/** The changes of a proposal by entity, in the order of the proposal. */
function byEntity(proposal: Proposal): readonly (readonly Change[])[] {
  const urns = [...new Set(proposal.changes.map((change) => change.urn))];
  return urns.map((urn) => proposal.changes.filter((change) => change.urn === urn));
}

/** The name of an entity that a proposal changes or creates. */
function nameOfChanged(change: Change): string {
  return change.entity === null || change.entity === undefined
    ? urnId(change.urn)
    : nameOf(change.entity);
}

/** The entities of a proposal, for labels. */
export function subjectOf(proposal: Proposal): string {
  if (proposal.changes.length === 0) return proposalTexts.hiddenSubject;
  return texts.list(byEntity(proposal).flatMap(([first]) => (first ? [nameOfChanged(first)] : [])));
}

interface ProposalProperties {
  readonly proposal: Proposal;
  readonly names: Names;
  readonly imported: Imported;
  readonly isOwn: boolean;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly onAccept: () => void;
  readonly onReject: () => void;
}

/** A proposal with its changes, and the buttons to decide it or the decision. */
export function ProposalItem({
  proposal,
  names,
  imported,
  isOwn,
  isBusy,
  error,
  onAccept,
  onReject,
}: ProposalProperties) {
  const words = proposalTexts;
  const subject = subjectOf(proposal);
  const isPending = proposal.result === null || proposal.result === undefined;
  return (
    <li>
      {proposal.changes.length === 0 && <p className="hint">{words.hidden}</p>}
      {byEntity(proposal).map((changes) => (
        <ChangedEntity key={changes[0]?.urn} changes={changes} names={names} imported={imported} />
      ))}
      <p className="hint">
        <Byline
          actor={proposal.proposer}
          time={proposal.createdAt}
          by={words.proposedBy}
          at={words.proposedAt}
        />
      </p>
      {!isPending && <Decision proposal={proposal} />}
      {error !== null && <ErrorMessage error={error} />}
      {isPending && (proposal.canDecide || isOwn) && (
        <div className="editor-actions">
          {proposal.canDecide && (
            <button
              type="button"
              className="primary"
              disabled={isBusy}
              aria-label={words.acceptLabel(subject)}
              onClick={onAccept}
            >
              {words.accept}
            </button>
          )}
          <button
            type="button"
            disabled={isBusy}
            aria-label={isOwn ? words.withdrawLabel(subject) : words.rejectLabel(subject)}
            onClick={onReject}
          >
            {isOwn ? words.withdraw : words.reject}
          </button>
        </div>
      )}
    </li>
  );
}

function Decision({ proposal }: { readonly proposal: Proposal }) {
  const { result, resultNote } = proposal;
  if (result === null || result === undefined) return null;
  const words = proposalTexts.results[result];
  return (
    <>
      <p>
        <Byline
          actor={proposal.decidedBy}
          time={proposal.decidedAt ?? 0}
          by={words.by}
          at={words.at}
        />
      </p>
      {resultNote !== null && resultNote !== undefined && resultNote !== "" && (
        <p>
          <FormattedText text={proposalTexts.note} values={{ note: resultNote }} />
        </p>
      )}
    </>
  );
}

function ChangedEntity({
  changes,
  names,
  imported,
}: {
  readonly changes: readonly Change[];
  readonly names: Names;
  readonly imported: Imported;
}) {
  const [first] = changes;
  if (first === undefined) return null;
  const { entity } = first;
  const isNew = entity === null || entity === undefined;
  const differences = changes.flatMap(differencesOf);
  const shown = differences.slice(0, MAX_DIFFERENCES);
  const type = first.urn.split(":")[2] ?? "";
  return (
    <section>
      <h2>{isNew ? nameOfChanged(first) : <EntityLink entity={entity} />}</h2>
      {isNew && <p>{proposalTexts.creates(type)}</p>}
      {!isNew && shown.length === 0 && <p className="hint">{proposalTexts.unchanged}</p>}
      <dl className="differences">
        {shown.map((difference, index) => (
          <div key={index}>
            <dt>{difference.subject}</dt>
            <dd>
              <DifferenceView
                difference={difference}
                names={names}
                replaced={replacedBy(difference, first.urn, imported)}
              />
            </dd>
          </div>
        ))}
      </dl>
      {differences.length > shown.length && (
        <p className="hint">
          {proposalTexts.more(texts.number(differences.length - shown.length))}
        </p>
      )}
    </section>
  );
}

function DifferenceView({
  difference,
  names,
  replaced,
}: {
  readonly difference: Difference;
  readonly names: Names;
  /** The imported description, if this is the first edit of it. */
  readonly replaced: string | undefined;
}) {
  const { before, after } = difference;
  if (replaced !== undefined && typeof after === "string")
    return (
      <>
        <p className="hint">{proposalTexts.comparedWithImported}</p>
        <TextDiff before={replaced} after={after} />
      </>
    );
  if (typeof before === "string" && typeof after === "string")
    return <TextDiff before={before} after={after} />;
  const [old, next] = [itemsOf(before), itemsOf(after)];
  const items = [
    ...old.map((item) => ({ item, isAdded: false, isRemoved: !next.includes(item) })),
    ...next
      .filter((item) => !old.includes(item))
      .map((item) => ({ item, isAdded: true, isRemoved: false })),
  ];
  return (
    <p className="text-diff">
      {items.map(({ item, isAdded, isRemoved }, index) => {
        const name = nameOf(
          names.get(item) ?? (item.startsWith("urn:li:") ? { urn: item } : { name: item }),
        );
        return (
          <Fragment key={item}>
            {index > 0 && ", "}
            {isAdded && <ins data-announce={texts.history.addedWords}>{name}</ins>}
            {isRemoved && <del data-announce={texts.history.removedWords}>{name}</del>}
            {!isAdded && !isRemoved && name}
          </Fragment>
        );
      })}
    </p>
  );
}

const itemsOf = (content: Content): readonly string[] =>
  typeof content === "string" ? [content] : [...new Set(content)];

interface RejectProperties {
  readonly proposal: Proposal;
  readonly isOwn: boolean;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly onReject: (note: string) => void;
  readonly onClose: () => void;
}

/** Asks for a note before a proposal is rejected, or withdrawn by the one who made it. */
export function RejectDialog({
  proposal,
  isOwn,
  isBusy,
  error,
  onReject,
  onClose,
}: RejectProperties) {
  const words = proposalTexts;
  const subject = subjectOf(proposal);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    onReject(String(new FormData(event.currentTarget).get("note") ?? "").trim());
  };
  return (
    <Dialog
      title={isOwn ? words.withdrawTitle(subject) : words.rejectTitle(subject)}
      isOpen
      onClose={onClose}
    >
      <form onSubmit={submit}>
        <label>
          {words.noteField}
          <textarea name="note" rows={3} defaultValue="" maxLength={MAX_NOTE} />
          <span className="hint">{words.noteHint}</span>
        </label>
        {error !== null && <ErrorMessage error={error} />}
        <div className="dialog-actions">
          <button type="button" onClick={onClose}>
            {words.cancel}
          </button>
          <button type="submit" className="dangerous" disabled={isBusy}>
            {isOwn ? words.withdrawButton : words.rejectButton}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

const MAX_NOTE = 2_000;
