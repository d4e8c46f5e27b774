import { Link } from "wouter";

import { texts } from "../texts.ts";

/** The search API's limit on paging. */
const MAX_RESULTS = 10_000;

/** The page number in the address, clamped to the valid range. */
export function pageFromAddress(parameters: URLSearchParams, size: number): number {
  const page = Number.parseInt(parameters.get("page") ?? "1", 10);
  return page >= 1 ? Math.min(page, Math.floor(MAX_RESULTS / size)) : 1;
}

/** Links to the previous and next page. */
export function Pagination({
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
        {texts.search.pastLastPage} <Link href={addressOf(last)}>{texts.search.lastPage}</Link>
      </p>
    );
  }
  const from = (page - 1) * size + 1;
  const to = Math.min(total, from + size - 1);
  const isLast = page === last;
  const isAtLimit = to + size > MAX_RESULTS;
  return (
    <nav className="pagination" aria-label={texts.search.pagination}>
      {/* Keyed, so that a focused link is not reused for a different target. */}
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
      {!isLast && !isAtLimit ? (
        <Link key="next" href={addressOf(page + 1)}>
          {texts.search.next}
        </Link>
      ) : (
        <span key="last" />
      )}
      {!isLast && isAtLimit && <p className="hint">{texts.search.limited(MAX_RESULTS)}</p>}
    </nav>
  );
}
