import { Link, useLocation, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useRead } from "../api/cache.ts";
import { Pages, pageOf } from "../components/pages.tsx";
import { plainText } from "../components/plain_text.ts";
import { SectionHead } from "../components/sections.tsx";
import { Awaited, Outdated } from "../components/states.tsx";
import { DomainDatasetsDocument } from "../generated/operations.ts";
import { descriptionOf, nameOf } from "../names.ts";
import { BELOW_DOMAIN } from "../search/state.ts";
import { texts } from "../texts.ts";

const PAGE_SIZE = 50;

/** The datasets of a domain, those below it too if that is wanted. */
export function DomainDatasets({ urn, hasChildren }: { readonly urn: string; readonly hasChildren: boolean }) {
  const parameters = new URLSearchParams(useSearch());
  const [, navigate] = useLocation();
  const isDeep = parameters.get("below") === "true";
  const page = pageOf(parameters, PAGE_SIZE);
  const condition = isDeep ? ("DESCENDANTS_INCL" as const) : ("EQUAL" as const);
  const filters = [{ and: [{ field: "domains", values: [urn], condition }] }];
  const read = useRead(
    DomainDatasetsDocument,
    { filters, start: (page - 1) * PAGE_SIZE, count: PAGE_SIZE },
    { keep: true },
  );
  const found = read.data?.searchAcrossEntities;
  const total = found?.total ?? 0;
  const isThere = found !== undefined && found !== null;
  return (
    <section className="section" aria-labelledby="datasets">
      <SectionHead title={texts.domain.datasets} id="datasets">
        {hasChildren && (
          <label className="check">
            <input
              type="checkbox"
              checked={isDeep}
              onChange={(event) =>
                navigate(addresses.domainDatasets(urn, event.target.checked), { state: addresses.STAYS })
              }
            />
            {texts.domain.including}
          </label>
        )}
        {total > 0 && <Link href={addresses.search("", { [BELOW_DOMAIN]: [urn] })}>{texts.domain.all}</Link>}
      </SectionHead>
      {read.data === undefined && <Awaited read={read} />}
      <Outdated read={read} />
      {isThere && total === 0 && (
        <p className="hint">{hasChildren && !isDeep ? texts.domain.noDirectDatasets : texts.domain.noDatasets}</p>
      )}
      {total > 0 && (
        <div className="table-scroll">
          <table className="quiet-table stacked">
            <thead>
              <tr>
                <th scope="col">{texts.kinds["DATASET"]?.one}</th>
                <th scope="col">{texts.dataset.platform}</th>
                <th scope="col">{texts.description.heading}</th>
              </tr>
            </thead>
            <tbody>
              {found?.searchResults.map(({ entity }) =>
                "urn" in entity ? (
                  <tr key={entity.urn}>
                    <th scope="row">
                      <Link href={addresses.dataset(entity.urn)}>{nameOf(entity)}</Link>
                    </th>
                    <td className="hint">{nameOf(entity.platform)}</td>
                    <td className="one-line">{plainText(descriptionOf(entity))}</td>
                  </tr>
                ) : null,
              )}
            </tbody>
          </table>
        </div>
      )}
      {isThere && (
        <Pages
          page={page}
          size={PAGE_SIZE}
          total={total}
          addressOf={(number) => addresses.domainDatasets(urn, isDeep, number)}
        />
      )}
    </section>
  );
}
