import { useState } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useRead } from "../api/cache.ts";
import { Problem, Skeleton } from "../components/states.tsx";
import { SectionHead } from "../description/description.tsx";
import { DomainDatasetsDocument } from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { BELOW_DOMAIN } from "../search/state.ts";
import { texts } from "../texts.ts";

const PAGE_SIZE = 50;

/** The datasets of a domain, those below it too if that is wanted. */
export function DomainDatasets({ urn, hasChildren }: { readonly urn: string; readonly hasChildren: boolean }) {
  const [isDeep, setDeep] = useState(false);
  const [start, setStart] = useState(0);
  const condition = isDeep ? ("DESCENDANTS_INCL" as const) : ("EQUAL" as const);
  const filters = [{ and: [{ field: "domains", values: [urn], condition }] }];
  const read = useRead(DomainDatasetsDocument, { filters, start, count: PAGE_SIZE }, { keep: true });
  const found = read.data?.searchAcrossEntities;
  const total = found?.total ?? 0;
  return (
    <section className="section" aria-labelledby="datasets">
      <SectionHead title={texts.domain.datasets} id="datasets">
        {hasChildren && (
          <label className="check">
            <input
              type="checkbox"
              checked={isDeep}
              onChange={(event) => {
                setDeep(event.target.checked);
                setStart(0);
              }}
            />
            {texts.domain.including}
          </label>
        )}
        {total > 0 && <Link href={addresses.search("", { [BELOW_DOMAIN]: [urn] })}>{texts.domain.all}</Link>}
      </SectionHead>
      {read.isPending && <Skeleton />}
      {read.isError && <Problem error={read.error} retry={() => void read.refetch()} />}
      {read.isSuccess && total === 0 && <p className="hint">{texts.domain.noDatasets}</p>}
      {total > 0 && (
        <div className="table-scroll">
          <table className="quiet-table">
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
                    <td className="one-line">
                      {entity.editableProperties?.description ?? entity.properties?.description}
                    </td>
                  </tr>
                ) : null,
              )}
            </tbody>
          </table>
        </div>
      )}
      {total > PAGE_SIZE && (
        <nav className="pages" aria-label={texts.search.pages}>
          <button type="button" disabled={start === 0} onClick={() => setStart(start - PAGE_SIZE)}>
            {texts.search.previous}
          </button>
          <span className="hint">{texts.search.range(start + 1, Math.min(total, start + PAGE_SIZE), total)}</span>
          <button type="button" disabled={start + PAGE_SIZE >= total} onClick={() => setStart(start + PAGE_SIZE)}>
            {texts.search.next}
          </button>
        </nav>
      )}
    </section>
  );
}
