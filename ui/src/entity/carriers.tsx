import { useApiQuery } from "../api/cache.ts";
import { EntityLink } from "../components/common.tsx";
import { LoadingOrError, StaleNotice } from "../components/states.tsx";
import { CarriersDocument, type AndFilterInput } from "../generated/operations.ts";
import { texts } from "../texts.ts";

const SHOWN_CARRIERS = 5;

/** The search filters for the entities that have a tag or term, themselves or on their columns. */
export function carrierFilters(fields: readonly string[], urn: string): AndFilterInput[] {
  return fields.map((field) => ({ and: [{ field, values: [urn] }] }));
}

export function useCarriers(fields: readonly string[], urn: string) {
  return useApiQuery(CarriersDocument, {
    filters: carrierFilters(fields, urn),
    count: SHOWN_CARRIERS,
  });
}

/** How many entities a deletion changes, with examples. */
export function CarriersPreview({
  read,
  words,
}: {
  readonly read: ReturnType<typeof useCarriers>;
  readonly words: (carriers: number) => string;
}) {
  const found = read.data?.searchAcrossEntities;
  if (found === undefined || found === null) return <LoadingOrError read={read} lines={2} />;
  const examples = found.searchResults.map(({ entity }) => entity);
  return (
    <>
      <StaleNotice read={read} />
      <p>{words(found.total)}</p>
      {found.total > examples.length && <p className="hint">{texts.domains.deleteExamples}</p>}
      <ul>
        {examples.map((entity) => (
          <li key={entity.urn}>
            <EntityLink entity={entity} />
          </li>
        ))}
      </ul>
    </>
  );
}
