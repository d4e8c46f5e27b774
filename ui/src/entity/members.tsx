import { useState, type ReactNode } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { SelectableList } from "../bulk/selectable_list.tsx";
import { SectionHeader } from "../components/sections.tsx";
import { LoadingOrError, StaleNotice } from "../components/states.tsx";
import { SearchDocument } from "../generated/operations.ts";
import { ResultItem } from "../search/result.tsx";
import { conditionsOf, ENTITY_TYPE } from "../search/state.ts";
import { texts } from "../texts.ts";

/** How many members are listed at first; a search, or a button, shows the others. */
const MAX_LISTED = 10;
const MORE = 50;

interface MembersProperties {
  readonly heading: string;
  /** The field of the index that the members have in common, and its values. */
  readonly field: string;
  readonly values: readonly string[];
  /** The types of the members, if only some are listed. */
  readonly types?: readonly string[];
  /** Whether a button shows the others: too many values for the address of a search. */
  readonly isExpandable?: boolean;
  /** Whether the list is absent if there are no members. */
  readonly isOptional?: boolean;
  /** What changes the members. */
  readonly action?: ReactNode;
}

/** What carries an entity, or is in it, to search within. */
export function Members({
  heading,
  field,
  values,
  types,
  isExpandable = false,
  isOptional = false,
  action,
}: MembersProperties) {
  const [text, setText] = useState("");
  const [listed, setListed] = useState(MAX_LISTED);
  const filters = { [field]: values, ...(types && { [ENTITY_TYPE]: types }) };
  const state = { query: text.trim(), filters, page: 1 };
  const read = useApiQuery(
    SearchDocument,
    { ...conditionsOf(state), start: 0, count: listed, hasNoFacets: true },
    { keepPrevious: true },
  );
  const found = read.data?.searchAcrossEntities;
  const results = found?.searchResults ?? [];
  const total = found?.total ?? 0;
  if (isOptional && read.isSuccess && total === 0 && text === "") return null;
  return (
    <section className="section" aria-labelledby="members">
      <SectionHeader title={heading} id="members">
        {read.data !== undefined && (
          <span className="hint" role="status">
            {texts.search.results(total)}
          </span>
        )}
        {action}
        {(total > 1 || text !== "") && (
          <input
            type="search"
            className="column-filter"
            aria-label={texts.entity.searchWithin}
            placeholder={texts.entity.searchWithin}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </SectionHeader>
      <StaleNotice read={read} />
      {read.data === undefined && <LoadingOrError read={read} />}
      {read.data !== undefined && total === 0 && (
        <p className="hint">
          {text.trim() === "" ? texts.entity.noMembers : texts.search.none(text.trim())}
        </p>
      )}
      <SelectableList
        entities={results.map(({ entity }) => entity)}
        matching={conditionsOf(state)}
        total={total}
      >
        {results.map((result) => (
          <ResultItem key={result.entity.urn} result={result} />
        ))}
      </SelectableList>
      {total > results.length && (
        <p>
          {isExpandable ? (
            <button type="button" className="subtle" onClick={() => setListed(listed + MORE)}>
              {texts.entity.moreMembers}
            </button>
          ) : (
            <Link href={addresses.search(text.trim(), filters)}>
              {texts.entity.allMembers(total)}
            </Link>
          )}
        </p>
      )}
    </section>
  );
}
