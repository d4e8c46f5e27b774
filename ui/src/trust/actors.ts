// The names of actors that the API returns as URNs only.

import { useApiQuery } from "../api/cache.ts";
import { ActorsDocument } from "../generated/operations.ts";
import type { Nameable } from "../names.ts";

/** Returns a function that gives each actor, with the name as soon as it is known. */
export function useActors(urns: readonly (string | null | undefined)[]) {
  const known = [...new Set(urns.filter((urn) => urn != null))].sort();
  const read = useApiQuery(ActorsDocument, { urns: known }, { enabled: known.length > 0 });
  const byUrn = new Map<string, Nameable>();
  for (const entity of read.data?.entities ?? []) {
    if (entity?.urn !== undefined) byUrn.set(entity.urn, entity);
  }
  return (urn: string | null | undefined): Nameable | undefined =>
    urn == null ? undefined : (byUrn.get(urn) ?? { urn });
}
