// Creates a tag by its name alone. Loaded on demand: most who add a tag pick one.

import { run } from "../api/client.ts";
import { newNameProblem } from "../entity/by_name.ts";
import { CreateTagDocument } from "../generated/operations.ts";
import { tagTexts } from "../tag_texts.ts";

/** The URN of the new tag. Fails if there is one of this name. */
export async function createTag(name: string): Promise<string> {
  const problem = await newNameProblem("TAG", name, tagTexts);
  if (problem !== null) throw new Error(problem);
  const { createTag: urn } = await run(CreateTagDocument, { name, description: null });
  return String(urn);
}
