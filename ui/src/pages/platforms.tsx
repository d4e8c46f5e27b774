import { useState } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { PAIR, countsOf } from "../browse/counts.ts";
import { BrowseLevel, type TreeFilters } from "../browse/tree.tsx";
import { EmptyState, LoadingOrError, StaleNotice, useTitle } from "../components/states.tsx";
import { ExpandButton } from "../components/tree_table.tsx";
import { PlatformsDocument, ValueCountsDocument } from "../generated/operations.ts";
import { PlatformIcon } from "../icons/platform_icon.tsx";
import { nameOf, urnId } from "../names.ts";
import { platformTexts } from "../platform_texts.ts";
import { texts } from "../texts.ts";

const KINDS = `platform${PAIR}_entityType`;

/** All platforms with their containers, optionally of one environment. */
export default function PlatformsPage() {
  const words = platformTexts;
  useTitle(words.title);
  const [environment, setEnvironment] = useState("");
  const filters: TreeFilters = environment === "" ? {} : { origin: [environment] };
  const and = Object.entries(filters).map(([field, values]) => ({ field, values }));
  const read = useApiQuery(
    PlatformsDocument,
    { filters: and.length === 0 ? null : [{ and }] },
    { keepPrevious: true },
  );
  const environments = useApiQuery(ValueCountsDocument, { facets: ["origin"] });
  const known = [...countsOf(environments.data, "origin").keys()];
  const facets = read.data?.aggregateAcrossEntities?.facets ?? [];
  const platforms = facets.find(({ field }) => field === "platform")?.aggregations ?? [];
  const kinds = countsOf(read.data, KINDS);
  return (
    <div className="tree-page">
      <div className="section-header">
        <h1>{words.title}</h1>
        {known.length > 1 && (
          <label className="environment">
            {words.environment}
            <select value={environment} onChange={(event) => setEnvironment(event.target.value)}>
              <option value="">{words.allEnvironments}</option>
              {known.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      <StaleNotice read={read} />
      {read.data === undefined && <LoadingOrError read={read} lines={8} />}
      {read.data !== undefined && platforms.length === 0 && (
        <EmptyState title={words.none} hint={words.noneHint} />
      )}
      {platforms.length > 0 && <p className="hint">{words.hint}</p>}
      <ul className="browse-tree platforms">
        {platforms.map(({ value, entity }) => (
          <Platform
            key={value}
            urn={value}
            name={entity ? nameOf(entity) : urnId(value)}
            kinds={[...kinds].flatMap(([pair, count]) => {
              const [platform, type = ""] = pair.split(PAIR);
              return platform === value ? [kindCount(type, count)] : [];
            })}
            filters={{ ...filters, platform: [value] }}
          />
        ))}
      </ul>
    </div>
  );
}

function kindCount(type: string, count: number): string {
  const words = texts.entityTypes[type];
  const name = count === 1 ? words?.one : words?.many;
  return `${texts.number(count)} ${(name ?? type).toLocaleLowerCase()}`;
}

function Platform({
  urn,
  name,
  kinds,
  filters,
}: {
  readonly urn: string;
  readonly name: string;
  readonly kinds: readonly string[];
  readonly filters: TreeFilters;
}) {
  const [isExpanded, setExpanded] = useState(false);
  const label = (isExpanded ? platformTexts.collapse : platformTexts.expand)(name);
  return (
    <li>
      <span className="browse-row">
        <ExpandButton
          hasChildren
          isExpanded={isExpanded}
          label={label}
          onToggle={() => setExpanded(!isExpanded)}
        />
        <Link className="tree-group with-icon" href={addresses.entity(urn)}>
          <PlatformIcon urn={urn} />
          {name}
        </Link>
        <span className="hint">{texts.list(kinds)}</span>
      </span>
      {isExpanded && <BrowseLevel filters={filters} path={[]} />}
    </li>
  );
}
