import { Link } from "wouter";

import { texts } from "../texts.ts";

/** How deep a search can be paged through. */
const MOST_RESULTS = 10_000;

/** The page that an address asks for, as far down as there are any. */
export function pageOf(parameters: URLSearchParams, size: number): number {
  const page = Number.parseInt(parameters.get("page") ?? "1", 10);
  return page >= 1 ? Math.min(page, Math.floor(MOST_RESULTS / size)) : 1;
}

/** The way to the pages before and after one. */
export function Pages({
  page,
  size,
  total,
  addressOf,
}: {
  readonly page: number;
  readonly size: number;
  readonly total: number;
  readonly addressOf: (page: number) => string;
}) {
  if (total <= size && page === 1) return null;
  const last = Math.ceil(total / size);
  if (page > last) {
    return (
      <p>
        {texts.search.beyond} <Link href={addressOf(last)}>{texts.search.toLast}</Link>
      </p>
    );
  }
  const from = (page - 1) * size + 1;
  const to = Math.min(total, from + size - 1);
  const isLast = page === last;
  const isDeepest = to + size > MOST_RESULTS;
  return (
    <nav className="pages" aria-label={texts.search.pages}>
      {/* With keys, so that the link that has the focus does not become another one. */}
      {page > 1 ? (
        <Link key="previous" href={addressOf(page - 1)}>
          {texts.search.previous}
        </Link>
      ) : (
        <span key="first" />
      )}
      <span key="range" className="hint">
        {texts.search.range(from, to, total)}
      </span>
      {!isLast && !isDeepest ? (
        <Link key="next" href={addressOf(page + 1)}>
          {texts.search.next}
        </Link>
      ) : (
        <span key="last" />
      )}
      {!isLast && isDeepest && <p className="hint">{texts.search.deep(MOST_RESULTS)}</p>}
    </nav>
  );
}
