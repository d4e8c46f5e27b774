// Recipes: people write YAML, the API stores JSON.

import { ingestionTexts } from "../ingestion_texts.ts";

const words = ingestionTexts.form;

/** Stands for the stored recipe, for users to whom the API does not show it. */
export const STORED_RECIPE = "********";

/** A recipe to start from. */
export const TEMPLATE = `source:
  type: postgres
  config:
    host_port: warehouse.example.com:5432
    database: shop
    username: docent
    password: \${WAREHOUSE_PASSWORD}
`;

/** A recipe of the API as people edit it. What is neither JSON nor YAML is for them to repair. */
export async function recipeText(stored: string): Promise<string> {
  if (stored.trim() === "") return TEMPLATE;
  const { parseDocument, stringify } = await import("yaml");
  const document = parseDocument(stored);
  return document.errors.length > 0 ? stored : stringify(document.toJS());
}

type Parsed = { readonly json: string; readonly type: string } | { readonly error: string };

/** A recipe as JSON with the type of its source, or what is wrong with it. */
export async function parseRecipe(text: string): Promise<Parsed> {
  if (text.trim() === "") return { error: words.recipeMissing };
  const { parseDocument } = await import("yaml");
  const document = parseDocument(text);
  const problem = document.errors[0];
  // The message continues with an excerpt of the text.
  if (problem !== undefined)
    return { error: words.recipeInvalid(problem.message.split("\n")[0] ?? "") };
  const value: unknown = document.toJS();
  if (!isMap(value)) return { error: words.recipeNoMap };
  const { source } = value;
  if (!isMap(source) || typeof source["type"] !== "string" || source["type"] === "")
    return { error: words.recipeNoSource };
  return { json: JSON.stringify(value), type: source["type"] };
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
