// Finds entities by their exact names, ignoring case.

import { run } from "../api/client.ts";
import {
  CandidatesDocument,
  type CandidatesQuery,
  type EntityType,
} from "../generated/operations.ts";
import { nameOf, urnId } from "../names.ts";

/** Candidates read for one name. */
const MAX_CANDIDATES = 50;

type Candidate = NonNullable<
  CandidatesQuery["searchAcrossEntities"]
>["searchResults"][number]["entity"];

/** The entities with this name, or with this id. */
export async function entitiesNamed(
  types: readonly EntityType[],
  name: string,
  signal?: AbortSignal,
): Promise<readonly Candidate[]> {
  const variables = { types: [...types], query: name, count: MAX_CANDIDATES, sort: null };
  const reply = await run(CandidatesDocument, variables, signal);
  const found = (reply.searchAcrossEntities?.searchResults ?? []).map(({ entity }) => entity);
  return found.filter(
    (entity) => sameName(nameOf(entity), name) || sameName(urnId(entity.urn), name),
  );
}

/** What is wrong with the name of a new entity, or null. The API allows several of one name, which
 *  lists and pickers cannot tell apart. */
export async function newNameProblem(
  type: EntityType,
  name: string,
  words: { readonly nameMissing: string; readonly nameTaken: (name: string) => string },
): Promise<string | null> {
  if (name === "") return words.nameMissing;
  try {
    const found = await entitiesNamed([type], name);
    return found.some((entity) => sameName(nameOf(entity), name)) ? words.nameTaken(name) : null;
  } catch {
    // The request that creates it fails for the same reason, and says why.
    return null;
  }
}

export const sameName = (left: string, right: string) =>
  left.toLocaleLowerCase() === right.toLocaleLowerCase();
