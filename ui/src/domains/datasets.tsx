import type { ReactNode } from "react";
import { Link, useLocation, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { SelectableList, SelectBox } from "../bulk/selectable_list.tsx";
import { Pagination, pageFromAddress } from "../components/pagination.tsx";
import { firstParagraph, plainText } from "../components/plain_text.ts";
import { SectionHeader } from "../components/sections.tsx";
import { LoadingOrError, StaleNotice } from "../components/states.tsx";
import { TableScroll } from "../components/table_scroll.tsx";
import { DomainDatasetsDocument, type DatasetSummaryFragment } from "../generated/operations.ts";
import { contextOf, descriptionOf, nameOf } from "../names.ts";
import { DOMAIN_SUBTREE } from "../search/state.ts";
import { texts } from "../texts.ts";

const PAGE_SIZE = 50;

/** The datasets of a domain, optionally including its subdomains. */
export function DomainDatasets({
  urn,
  hasSubdomains,
  action,
}: {
  readonly urn: string;
  /** What changes the datasets. */
  readonly action: ReactNode;
  readonly hasSubdomains: boolean;
}) {
  const parameters = new URLSearchParams(useSearch());
  const [, navigate] = useLocation();
  const includesSubdomains = parameters.get("below") === "true";
  const page = pageFromAddress(parameters, PAGE_SIZE);
  const condition = includesSubdomains ? ("DESCENDANTS_INCL" as const) : ("EQUAL" as const);
  const filters = [{ and: [{ field: "domains", values: [urn], condition }] }];
  const read = useApiQuery(
    DomainDatasetsDocument,
    { filters, start: (page - 1) * PAGE_SIZE, count: PAGE_SIZE },
    { keepPrevious: true },
  );
  const found = read.data?.searchAcrossEntities;
  const total = found?.total ?? 0;
  const datasets = (found?.searchResults ?? []).flatMap(({ entity }) =>
    "urn" in entity ? [entity as DatasetSummaryFragment] : [],
  );
  const isLoaded = found !== undefined && found !== null;
  return (
    <section className="section" aria-labelledby="datasets">
      <SectionHeader title={texts.domain.datasets} id="datasets">
        {action}
        {hasSubdomains && (
          <label className="checkbox-label">
            <input
              type="checkbox"
              checked={includesSubdomains}
              onChange={(event) =>
                navigate(addresses.domainDatasets(urn, event.target.checked), {
                  state: addresses.SAME_PAGE,
                })
              }
            />
            {texts.domain.includingSubdomains}
          </label>
        )}
        {total > 0 && (
          <Link href={addresses.search("", { [DOMAIN_SUBTREE]: [urn] })}>
            {texts.domain.search}
          </Link>
        )}
      </SectionHeader>
      {read.data === undefined && <LoadingOrError read={read} />}
      <StaleNotice read={read} />
      {isLoaded && total === 0 && (
        <p className="hint">
          {hasSubdomains && !includesSubdomains
            ? texts.domain.noDirectDatasets
            : texts.domain.noDatasets}
        </p>
      )}
      {total > 0 && (
        <SelectableList
          entities={datasets}
          matching={{ query: "*", types: ["DATASET"], filters }}
          total={total}
        >
          <TableScroll label={texts.domain.datasets}>
            <table className="data-table stacked">
              <thead>
                <tr>
                  <th scope="col">{texts.entityTypes["DATASET"]?.one}</th>
                  <th scope="col">{texts.dataset.platform}</th>
                  <th scope="col">{texts.description.heading}</th>
                </tr>
              </thead>
              <tbody>
                {datasets.map((entity) => (
                  <tr key={entity.urn}>
                    <th scope="row">
                      <SelectBox entity={entity} />
                      <Link dir="auto" href={addresses.dataset(entity.urn)}>
                        {nameOf(entity)}
                      </Link>
                    </th>
                    <td className="hint" dir="auto">
                      {contextOf(entity)}
                    </td>
                    <td className="single-line">
                      {plainText(firstParagraph(descriptionOf(entity)))}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </TableScroll>
        </SelectableList>
      )}
      {isLoaded && (
        <Pagination
          page={page}
          size={PAGE_SIZE}
          total={total}
          addressOf={(number) => addresses.domainDatasets(urn, includesSubdomains, number)}
        />
      )}
    </section>
  );
}
