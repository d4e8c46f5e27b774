// A form while it is edited, and the changes to send.

import type { Named } from "../admin/policy.ts";
import type {
  CreatePromptInput,
  FormActorAssignmentInput,
  FormActorAssignmentUpdateInput,
  FormPromptType,
  ManagedFormFragment,
} from "../generated/operations.ts";
import { nameOf, urnId } from "../names.ts";
import { nameOfProperty } from "../properties/definition.ts";

export interface PromptDraft {
  /** `null` until the prompt is stored. Stored prompts keep their property, because there may be
   *  answers. */
  readonly id: string | null;
  readonly title: string;
  readonly description: string;
  readonly property: Named | null;
  readonly type: FormPromptType;
  readonly required: boolean;
}

export interface ActorDraft {
  readonly owners: boolean;
  readonly ownershipTypes: readonly Named[];
  /** Users and groups. */
  readonly people: readonly Named[];
}

export const EMPTY_PROMPT: PromptDraft = {
  id: null,
  title: "",
  description: "",
  property: null,
  type: "STRUCTURED_PROPERTY",
  required: true,
};

interface FormDraft {
  readonly prompts: readonly PromptDraft[];
  readonly actors: ActorDraft;
}

export function draftOf(form: ManagedFormFragment | null): FormDraft {
  if (form === null)
    return {
      prompts: [EMPTY_PROMPT],
      actors: { owners: true, ownershipTypes: [], people: [] },
    };
  const { prompts, actors } = form.info;
  const people = [...(actors.users ?? []), ...(actors.groups ?? [])];
  return {
    prompts: prompts.map((prompt) => {
      const property = prompt.structuredPropertyParams?.structuredProperty;
      return {
        id: prompt.id,
        title: prompt.title,
        description: prompt.description ?? "",
        property:
          property === undefined ? null : { urn: property.urn, name: nameOfProperty(property) },
        type: prompt.type,
        required: prompt.required,
      };
    }),
    actors: {
      owners: actors.owners,
      ownershipTypes: (actors.ownershipTypes ?? []).map(({ urn, info }) => ({
        urn,
        name: info?.name ?? urnId(urn),
      })),
      people: people.map((actor) => ({ urn: actor.urn, name: nameOf(actor) })),
    },
  };
}

export const promptInput = (prompt: PromptDraft): CreatePromptInput => ({
  ...(prompt.id === null ? {} : { id: prompt.id }),
  title: prompt.title.trim(),
  ...(prompt.description.trim() === "" ? {} : { description: prompt.description.trim() }),
  type: prompt.type,
  ...(prompt.property === null ? {} : { structuredPropertyParams: { urn: prompt.property.urn } }),
  required: prompt.required,
});

/** The prompts to add and remove. A changed prompt moves to the end, so all after the first changed
 *  one are sent, which keeps their order. Those that this edit does not change are sent as they are
 *  now, unless they are gone: others may have changed them meanwhile. */
export function promptChanges(
  before: readonly PromptDraft[],
  after: readonly PromptDraft[],
  now: readonly PromptDraft[],
) {
  const isSame = (left: PromptDraft, right: PromptDraft | undefined) =>
    JSON.stringify(left) === JSON.stringify(right);
  const kept = new Set(after.map(({ id }) => id));
  const removed = before.flatMap(({ id }) => (id !== null && !kept.has(id) ? [id] : []));
  const remaining = before.filter(({ id }) => kept.has(id));
  const same = after.findIndex((prompt, index) => !isSame(prompt, remaining[index]));
  const added = (same === -1 ? [] : after.slice(same)).flatMap((prompt) => {
    const isChanged = !before.some((it) => isSame(prompt, it));
    return isChanged ? [prompt] : now.filter(({ id }) => id === prompt.id);
  });
  return {
    ...(added.length === 0 ? {} : { promptsToAdd: added.map(promptInput) }),
    ...(removed.length === 0 ? {} : { promptsToRemove: removed }),
  };
}

const GROUP = "urn:li:corpGroup:";
const urnsOf = (named: readonly Named[]) => named.map(({ urn }) => urn);
const usersOf = ({ people }: ActorDraft) => urnsOf(people).filter((urn) => !urn.startsWith(GROUP));
const groupsOf = ({ people }: ActorDraft) => urnsOf(people).filter((urn) => urn.startsWith(GROUP));
/** Types of owners mean nothing without owners. */
const typesOf = ({ owners, ownershipTypes }: ActorDraft) => (owners ? urnsOf(ownershipTypes) : []);

export const actorsInput = (actors: ActorDraft): FormActorAssignmentInput => ({
  owners: actors.owners,
  ownershipTypes: typesOf(actors),
  users: usersOf(actors),
  groups: groupsOf(actors),
});

/** Only what was changed, so that assignees whom others added meanwhile stay. */
export function actorChanges(
  before: ActorDraft,
  after: ActorDraft,
): FormActorAssignmentUpdateInput {
  const without = (left: readonly string[], right: readonly string[]) =>
    left.filter((urn) => !right.includes(urn));
  return {
    owners: after.owners,
    ownershipTypesToAdd: without(typesOf(after), typesOf(before)),
    ownershipTypesToRemove: without(typesOf(before), typesOf(after)),
    usersToAdd: without(usersOf(after), usersOf(before)),
    usersToRemove: without(usersOf(before), usersOf(after)),
    groupsToAdd: without(groupsOf(after), groupsOf(before)),
    groupsToRemove: without(groupsOf(before), groupsOf(after)),
  };
}
