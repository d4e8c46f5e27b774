import { useEffect, useId, useRef, useState, type ReactNode } from "react";
import { Link, useLocation, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { SelectableList } from "../bulk/selectable_list.tsx";
import { useFocusFallback } from "../components/focus.ts";
import { isHandledElsewhere } from "../components/shortcuts.ts";
import { Pagination } from "../components/pagination.tsx";
import {
  LoadingOrError,
  EmptyState,
  GettingStarted,
  StaleNotice,
  useTitle,
} from "../components/states.tsx";
import { ActiveFilters, Facets } from "../search/facets.tsx";
import { ResultItem } from "../search/result.tsx";
import { useResults } from "../search/results.ts";
import {
  PAGE_SIZE,
  activeFilterCount,
  conditionsOf,
  stateOf,
  type SearchState,
} from "../search/state.ts";
import { SaveSearch } from "../saved_searches/save.tsx";
import { texts } from "../texts.ts";

export function SearchPage() {
  const state = stateOf(useSearch());
  useTitle(texts.search.title(state.query, state.page));
  useResultKeys();
  const search = useResults(state);
  const page = useRef<HTMLDivElement>(null);
  // After removing a filter, focus the next one.
  useFocusFallback(page, () => page.current?.querySelector<HTMLElement>(".search-header button"));
  if (search.data === undefined) return <LoadingOrError read={search} lines={12} />;
  const { results, facets, total } = search.data;
  const pages = (
    <Pagination
      page={state.page}
      size={PAGE_SIZE}
      total={total}
      addressOf={(page) => addresses.search(state.query, state.filters, page)}
    />
  );
  return (
    <div className="search-page" aria-busy={search.isPlaceholderData} ref={page}>
      <Filters active={activeFilterCount(state)} total={total}>
        <Facets facets={facets} state={state} />
      </Filters>
      <div>
        <StaleNotice read={search} />
        <div className="search-header">
          <h1>
            <span role="status">{texts.search.results(total)}</span>
          </h1>
          <ActiveFilters facets={facets} state={state} />
          {activeFilterCount(state) > 0 && total > 0 && (
            <Link href={addresses.search(state.query)} className="hint">
              {texts.search.clear}
            </Link>
          )}
          {/* Keyed, because what it says is about this search. */}
          <SaveSearch key={addresses.search(state.query, state.filters)} state={state} />
        </div>
        {total === 0 ? (
          <NoResults state={state} />
        ) : (
          <SelectableList
            entities={results.map(({ entity }) => entity)}
            matching={conditionsOf(state)}
            total={total}
          >
            {results.map((result) => (
              <ResultItem key={result.entity.urn} result={result} />
            ))}
            {pages}
          </SelectableList>
        )}
        {total === 0 && pages}
      </div>
    </div>
  );
}

interface FiltersProperties {
  readonly active: number;
  readonly total: number;
  readonly children: ReactNode;
}

/** The facets: next to the results, or behind a button on narrow screens. */
function Filters({ active, total, children }: FiltersProperties) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  return (
    <aside aria-label={texts.search.filters}>
      <button
        type="button"
        className="narrow-only"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      >
        {texts.search.filtersActive(active)} <span aria-hidden="true">{isOpen ? "▴" : "▾"}</span>
      </button>
      <div id={id} className={isOpen ? "filters filters-open" : "filters"}>
        {children}
        <button type="button" className="narrow-only primary" onClick={() => setOpen(false)}>
          {texts.search.showResults(total)}
        </button>
      </div>
    </aside>
  );
}

function NoResults({ state }: { readonly state: SearchState }) {
  if (activeFilterCount(state) > 0) {
    return (
      <EmptyState
        title={texts.search.noneFiltered(state.query)}
        hint={texts.search.noneFilteredHint}
      >
        <Link href={addresses.search(state.query)} className="button">
          {texts.search.clear}
        </Link>
      </EmptyState>
    );
  }
  if (state.query === "")
    return <EmptyState title={texts.search.emptyCatalog} hint={<GettingStarted />} />;
  const hint = state.query.includes('"') ? texts.search.nonePhraseHint : texts.search.noneHint;
  return <EmptyState title={texts.search.none(state.query)} hint={hint} />;
}

/** The arrow keys move between results. */
function useResultKeys(): void {
  const [location] = useLocation();
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
      if (step === 0 || event.ctrlKey || event.metaKey || event.altKey || isHandledElsewhere(event))
        return;
      const links = [...document.querySelectorAll<HTMLAnchorElement>("a[data-result]")];
      const index = links.findIndex((link) => link === document.activeElement);
      const next = links[index === -1 && step === -1 ? links.length - 1 : index + step];
      if (next !== undefined) {
        event.preventDefault();
        next.focus();
        next.scrollIntoView({ block: "nearest" });
      }
    };
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, [location]);
}
