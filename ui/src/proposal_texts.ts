// Texts of proposed changes.

import { shellTexts } from "./shell_texts.ts";

export const proposalTexts = {
  title: shellTexts.proposals.title,
  titleDecided: "Decided proposals",
  tabs: { pending: "Pending", decided: "Decided" },
  tabsLabel: "Proposal status",
  none: "No pending proposals",
  noneHint: "Changes of users with the role Proposer wait here until somebody accepts them.",
  noneDecided: "No decided proposals",
  noneDecidedHint: "Decided proposals are kept for 90 days.",
  filtered: "Only proposals for {entity}.",
  showAll: "Show all proposals",
  proposedBy: "Proposed {when} by {who}",
  proposedAt: "Proposed {when}",
  results: {
    ACCEPTED: { by: "Accepted {when} by {who}", at: "Accepted {when}" },
    REJECTED: { by: "Rejected {when} by {who}", at: "Rejected {when}" },
    WITHDRAWN: { by: "Withdrawn {when} by {who}", at: "Withdrawn {when}" },
  },
  note: "Note: {note}",
  accept: "Accept",
  acceptLabel: (entity: string) => `Accept the proposal for ${entity}`,
  reject: "Reject…",
  rejectLabel: (entity: string) => `Reject the proposal for ${entity}`,
  rejectTitle: (entity: string) => `Reject the proposal for ${entity}?`,
  rejectButton: "Reject",
  withdraw: "Withdraw…",
  withdrawLabel: (entity: string) => `Withdraw your proposal for ${entity}`,
  withdrawTitle: (entity: string) => `Withdraw your proposal for ${entity}?`,
  withdrawButton: "Withdraw",
  noteField: "Note",
  noteHint: "Optional. It is shown with the decision.",
  cancel: "Cancel",
  accepted: (entity: string) => `The proposal for ${entity} was accepted.`,
  rejected: (entity: string) => `The proposal for ${entity} was rejected.`,
  withdrawn: (entity: string) => `Your proposal for ${entity} was withdrawn.`,
  decidedByOthers: (entity: string) =>
    `Someone else has already decided the proposal for ${entity}.`,
  conflict: (proposer: string) =>
    `The text was changed after ${proposer} proposed this, so it can't be accepted. Reject it, and ask for a new proposal.`,
  conflictOfOwn:
    "The text was changed after you proposed this, so it can't be accepted. Withdraw it, and propose the change again.",
  more: (number: string) => `and ${number} more`,
  creates: (type: string) => `A new entity of the type ${type}.`,
  hidden: "You no longer have permission to see what this changes.",
  hiddenSubject: "a restricted entity",
  unchanged: "Only details that are not shown here change.",
  comparedWithImported: "Compared with the imported description",
  subjects: {
    description: "Description",
    columnDescription: (column: string) => `Description of column ${column}`,
    columnTags: (column: string) => `Tags of column ${column}`,
    columnTerms: (column: string) => `Glossary terms of column ${column}`,
    member: (subject: string, member: string) => `${subject}: ${member}`,
  },
};
