import { useState } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { SectionHeader } from "../components/sections.tsx";
import { LoadingOrError, StaleNotice } from "../components/states.tsx";
import { ResultItem } from "../search/result.tsx";
import { useResults } from "../search/results.ts";
import { texts } from "../texts.ts";

/** How many members are listed; a search shows the others. */
const MAX_LISTED = 10;

interface MembersProperties {
  readonly heading: string;
  /** The field of the index that names the entity. */
  readonly field: string;
  readonly urn: string;
}

/** What carries an entity, or is in it, to search within. */
export function Members({ heading, field, urn }: MembersProperties) {
  const [text, setText] = useState("");
  const filters = { [field]: [urn] };
  const read = useResults({ query: text.trim(), filters, page: 1 });
  const total = read.data?.total ?? 0;
  return (
    <section className="section" aria-labelledby="members">
      <SectionHeader title={heading} id="members">
        {read.data !== undefined && (
          <span className="hint" role="status">
            {texts.search.results(total)}
          </span>
        )}
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
      {read.data?.results.slice(0, MAX_LISTED).map((result) => (
        <ResultItem key={result.entity.urn} result={result} />
      ))}
      {total > MAX_LISTED && (
        <p>
          <Link href={addresses.search(text.trim(), filters)}>
            {texts.entity.allMembers(total)}
          </Link>
        </p>
      )}
    </section>
  );
}
