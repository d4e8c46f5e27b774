import { useEffect } from "react";
import { Link, useLocation, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useRead } from "../api/cache.ts";
import { isTyping } from "../components/keys.ts";
import { Pages } from "../components/pages.tsx";
import { Empty, Problem, Skeleton, useTitle } from "../components/states.tsx";
import { SearchDocument } from "../generated/operations.ts";
import { Chosen, Facets } from "../search/facets.tsx";
import { ResultItem } from "../search/result.tsx";
import { PAGE_SIZE, stateOf, variablesOf, type SearchState } from "../search/state.ts";
import { texts } from "../texts.ts";

export function SearchPage() {
  const state = stateOf(useSearch());
  useTitle(texts.search.title(state.query));
  useResultKeys();
  const found = useRead(SearchDocument, variablesOf(state), { keep: true });
  if (found.isError) return <Problem error={found.error} retry={() => void found.refetch()} />;
  if (found.data === undefined) return <Skeleton lines={12} />;
  const results = found.data.searchAcrossEntities;
  const facets = results?.facets ?? [];
  const total = results?.total ?? 0;
  const hasFilters = Object.values(state.filters).some((values) => values.length > 0);
  return (
    <div className="search-page" aria-busy={found.isPlaceholderData}>
      <aside aria-label={texts.search.filters}>
        <Facets facets={facets} state={state} />
      </aside>
      <div>
        <div className="search-head">
          <h1>
            <span role="status">{texts.search.results(total)}</span>
          </h1>
          <Chosen facets={facets} state={state} />
          {hasFilters && (
            <Link href={addresses.search(state.query)} className="hint">
              {texts.search.clear}
            </Link>
          )}
        </div>
        {total === 0 ? (
          <Nothing state={state} />
        ) : (
          (results?.searchResults ?? []).map((result) => <ResultItem key={result.entity.urn} result={result} />)
        )}
        <Pages
          page={state.page}
          size={PAGE_SIZE}
          total={total}
          addressOf={(page) => addresses.search(state.query, state.filters, page)}
        />
      </div>
    </div>
  );
}

function Nothing({ state }: { readonly state: SearchState }) {
  const isEverything = state.query === "" && Object.keys(state.filters).length === 0;
  if (isEverything) return <Empty title={texts.search.nothingYet} />;
  return <Empty title={texts.search.none(state.query)} hint={texts.search.noneHint} />;
}

/** The arrows go from result to result. */
function useResultKeys(): void {
  const [location] = useLocation();
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
      if (step === 0 || isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      const links = [...document.querySelectorAll<HTMLAnchorElement>("a[data-result]")];
      const place = links.findIndex((link) => link === document.activeElement);
      const next = links[place === -1 && step === -1 ? links.length - 1 : place + step];
      if (next !== undefined) {
        event.preventDefault();
        next.focus();
        next.scrollIntoView({ block: "nearest" });
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [location]);
}
