import { useEffect, useId, useRef, useState, type ReactNode } from "react";
import { Link, useLocation, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useFocusKept } from "../components/focus.ts";
import { isForSomethingElse } from "../components/keys.ts";
import { Pages } from "../components/pages.tsx";
import { Awaited, Empty, FirstSteps, Outdated, useTitle } from "../components/states.tsx";
import { Chosen, Facets } from "../search/facets.tsx";
import { ResultItem } from "../search/result.tsx";
import { useResults } from "../search/results.ts";
import { PAGE_SIZE, chosenCount, stateOf, type SearchState } from "../search/state.ts";
import { texts } from "../texts.ts";

export function SearchPage() {
  const state = stateOf(useSearch());
  useTitle(texts.search.title(state.query, state.page));
  useResultKeys();
  const found = useResults(state);
  const page = useRef<HTMLDivElement>(null);
  // Whoever has taken one filter back may want to take back the next.
  useFocusKept(page, () => page.current?.querySelector<HTMLElement>(".search-head button"));
  if (found.data === undefined) return <Awaited read={found} lines={12} />;
  const { results, facets, total } = found.data;
  return (
    <div className="search-page" aria-busy={found.isPlaceholderData} ref={page}>
      <Filters chosen={chosenCount(state)} total={total}>
        <Facets facets={facets} state={state} />
      </Filters>
      <div>
        <Outdated read={found} />
        <div className="search-head">
          <h1>
            <span role="status">{texts.search.results(total)}</span>
          </h1>
          <Chosen facets={facets} state={state} />
          {chosenCount(state) > 0 && total > 0 && (
            <Link href={addresses.search(state.query)} className="hint">
              {texts.search.clear}
            </Link>
          )}
        </div>
        {total === 0 ? (
          <Nothing state={state} />
        ) : (
          results.map((result) => <ResultItem key={result.entity.urn} result={result} />)
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

interface FiltersProperties {
  readonly chosen: number;
  readonly total: number;
  readonly children: ReactNode;
}

/** What the results can be narrowed by: beside them, or behind a button where there is no room. */
function Filters({ chosen, total, children }: FiltersProperties) {
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
        {texts.search.filtersChosen(chosen)} <span aria-hidden="true">{isOpen ? "▴" : "▾"}</span>
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

function Nothing({ state }: { readonly state: SearchState }) {
  if (chosenCount(state) > 0) {
    return (
      <Empty title={texts.search.noneFiltered(state.query)} hint={texts.search.noneFilteredHint}>
        <Link href={addresses.search(state.query)} className="button">
          {texts.search.clear}
        </Link>
      </Empty>
    );
  }
  if (state.query === "") return <Empty title={texts.search.nothingYet} hint={<FirstSteps />} />;
  return <Empty title={texts.search.none(state.query)} hint={texts.search.noneHint} />;
}

/** The arrows go from result to result. */
function useResultKeys(): void {
  const [location] = useLocation();
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
      if (step === 0 || event.ctrlKey || event.metaKey || event.altKey || isForSomethingElse(event)) return;
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
