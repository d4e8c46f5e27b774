// A list of the entities of one type, with a search and pages. To add one, give it columns.

import type { ReactNode } from "react";
import { useLocation, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { EntityLink } from "../components/common.tsx";
import { Pagination, pageFromAddress } from "../components/pagination.tsx";
import { EmptyState, LoadingOrError, StaleNotice, useTitle } from "../components/states.tsx";
import { TableScroll } from "../components/table_scroll.tsx";
import {
  EntityListDocument,
  type EntityListQuery,
  type EntityType,
} from "../generated/operations.ts";
import { texts } from "../texts.ts";

const PAGE_SIZE = 50;

type Results = NonNullable<EntityListQuery["searchAcrossEntities"]>["searchResults"];
export type ListedEntity = Results[number]["entity"];

interface ListColumn {
  readonly title: string;
  readonly cell: (entity: ListedEntity) => ReactNode;
  readonly kind?: "number" | "text" | "actions";
}

interface ListProperties {
  readonly path: string;
  readonly type: EntityType;
  readonly words: {
    readonly title: string;
    readonly filter: string;
    readonly none: string;
    readonly noneHint: string;
    readonly noMatch: (query: string) => string;
  };
  /** What stands before a name, such as a color. */
  readonly mark?: (entity: ListedEntity) => ReactNode;
  readonly columns: readonly ListColumn[];
  /** Buttons beside the title. */
  readonly actions?: ReactNode;
  /** What stands between the title and the list. */
  readonly children?: ReactNode;
}

export function EntityList(properties: ListProperties) {
  const { path, type, words, mark, columns, actions, children } = properties;
  useTitle(words.title);
  const [, navigate] = useLocation();
  const parameters = new URLSearchParams(useSearch());
  const query = parameters.get("query") ?? "";
  const page = pageFromAddress(parameters, PAGE_SIZE);
  const text = query.trim();
  const read = useApiQuery(
    EntityListDocument,
    {
      types: [type],
      query: text === "" ? "*" : text,
      filters: null,
      start: (page - 1) * PAGE_SIZE,
      count: PAGE_SIZE,
      sort:
        text === "" ? { sortCriteria: [{ field: "_entityName", sortOrder: "ASCENDING" }] } : null,
    },
    { keepPrevious: true },
  );
  const found = read.data?.searchAcrossEntities;
  const total = found?.total ?? 0;
  return (
    <div className="list-page">
      <div className="section-header">
        <h1>{words.title}</h1>
        {found !== undefined && (
          <span className="hint" role="status">
            {texts.search.results(total)}
          </span>
        )}
        {actions}
        <input
          type="search"
          className="column-filter"
          aria-label={words.filter}
          placeholder={words.filter}
          value={query}
          onChange={(event) =>
            navigate(addresses.list(path, event.target.value), {
              state: addresses.SAME_PAGE,
              replace: true,
            })
          }
        />
      </div>
      {children}
      <StaleNotice read={read} />
      {read.data === undefined && <LoadingOrError read={read} lines={12} />}
      {read.data !== undefined &&
        total === 0 &&
        (text === "" ? (
          <EmptyState title={words.none} hint={words.noneHint} />
        ) : (
          <EmptyState title={words.noMatch(text)} />
        ))}
      {total > 0 && (
        <TableScroll>
          <table className="data-table stacked list">
            <thead>
              <tr>
                <th scope="col">{texts.common.name}</th>
                {columns.map(({ title, kind }) =>
                  kind === "actions" ? (
                    <td key={title} className="row-actions" />
                  ) : (
                    <th key={title} scope="col" className={kind === "number" ? "number" : ""}>
                      {title}
                    </th>
                  ),
                )}
              </tr>
            </thead>
            <tbody>
              {found?.searchResults.map(({ entity }) => (
                <tr key={entity.urn}>
                  <th scope="row">
                    {mark?.(entity)}
                    <EntityLink entity={entity} />
                  </th>
                  {columns.map(({ title, kind, cell }) => (
                    <td
                      key={title}
                      className={CELL_CLASSES[kind ?? "plain"]}
                      {...(kind === "number" ? { "data-label": title } : { dir: "auto" })}
                    >
                      {cell(entity)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </TableScroll>
      )}
      {read.data !== undefined && (
        <Pagination
          page={page}
          size={PAGE_SIZE}
          total={total}
          addressOf={(number) => addresses.list(path, query, number)}
        />
      )}
    </div>
  );
}

const CELL_CLASSES = {
  plain: "hint",
  number: "number",
  text: "single-line",
  actions: "row-actions",
};
