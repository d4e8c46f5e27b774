// The settings of a webhook, as they are shown, edited and stored again.

import type { Named } from "../admin/policy.ts";
import { useApiQuery } from "../api/cache.ts";
import { run } from "../api/client.ts";
import {
  NamesDocument,
  UpdateWebhookDocument,
  WebhookDocument,
  type WebhookEntryFragment,
  type WebhookInput,
} from "../generated/operations.ts";
import { nameOf, urnId } from "../names.ts";
import { sentence } from "../text_forms.ts";

/** The filters whose values are typed, and those whose values are entities. */
export const TYPED_FILTERS = ["entityTypes", "aspects"] as const;
export const ENTITY_FILTERS = ["domains", "tags", "actors"] as const;
export const FILTERS = [...TYPED_FILTERS, ...ENTITY_FILTERS] as const;

export type TypedFilter = (typeof TYPED_FILTERS)[number];
export type EntityFilter = (typeof ENTITY_FILTERS)[number];
export type FilterName = (typeof FILTERS)[number];
/** The values of the filters with the names to show. Those of types and aspects are their own. */
export type Filter = Readonly<Record<FilterName, readonly Named[]>>;

export const NO_FILTER: Filter = {
  entityTypes: [],
  aspects: [],
  domains: [],
  tags: [],
  actors: [],
};

export const typedValue = (name: string): Named => ({ urn: name, name });

/** The names of entities: their ids until the names are read, and for those that were deleted. */
export function useNames(urns: string[]): (urn: string) => string {
  const read = useApiQuery(NamesDocument, { urns }, { enabled: urns.length > 0 });
  const names = new Map(
    (read.data?.entities ?? []).flatMap((entity) =>
      entity === null ? [] : [[entity.urn, nameOf(entity)] as const],
    ),
  );
  return (urn) => names.get(urn) ?? urnId(urn);
}

/** The filters of a webhook, with the names of the entities. */
export function useFilter(webhook: WebhookEntryFragment | undefined): Filter {
  const stored = webhook?.filter;
  const urns = stored === undefined ? [] : ENTITY_FILTERS.flatMap((name) => stored[name]);
  const nameOfUrn = useNames(urns);
  if (stored === undefined) return NO_FILTER;
  const named = (urn: string): Named => ({ urn, name: nameOfUrn(urn) });
  return {
    entityTypes: stored.entityTypes.map(typedValue),
    aspects: stored.aspects.map(typedValue),
    domains: stored.domains.map(named),
    tags: stored.tags.map(named),
    actors: stored.actors.map(named),
  };
}

/** Changes some settings of a webhook. The API replaces all of them, so the others are read first:
 *  somebody else may have changed them since they were shown. */
export async function changeWebhook(urn: string, change: Partial<WebhookInput>): Promise<void> {
  const { name, url, topic, format, filter, isActive } = (await run(WebhookDocument, { urn }))
    .webhook;
  const input = { name, url, topic, format, filter, isActive, ...change };
  await run(UpdateWebhookDocument, { urn, input });
}

export type Field = "name" | "url" | FilterName;

export interface Problem {
  readonly field: Field;
  readonly text: string;
}

/** The API says what is wrong with a value, but not in a form that names the field. */
const REJECTIONS: readonly (readonly [field: Field, message: RegExp])[] = [
  ["name", /\bthe name (?:is empty|of a webhook)\b/],
  ["url", /\baddress of a receiver\b|\bthe address has more than\b|\bnot a public address\b/],
  ["entityTypes", /\bno entity type\b|\bthe filter has \d+ entity types\b/],
  ["aspects", /\bno aspect\b|\bis a time series\b|\bthe filter has \d+ aspects\b/],
  ["domains", /\bthe filter has \d+ domains\b/],
  ["tags", /\bthe filter has \d+ tags\b/],
  ["actors", /\bthe filter has \d+ actors\b/],
];

/** The field that an error of the API is about; null for other errors. */
export function fieldProblemOf(error: Error | null): Problem | null {
  if (error === null) return null;
  const found = REJECTIONS.find(([, message]) => message.test(error.message));
  return found === undefined ? null : { field: found[0], text: sentence(error.message) };
}
