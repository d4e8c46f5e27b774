// The containers and folders of a platform as a tree. Each level is loaded when it is opened, because
// a platform can have any number of them.

import { useState } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { EntityLink } from "../components/common.tsx";
import { LoadingOrError, StaleNotice } from "../components/states.tsx";
import { ExpandButton } from "../components/tree_table.tsx";
import { BrowseLevelDocument, type BrowseLevelQuery } from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { platformTexts } from "../platform_texts.ts";

type Group = NonNullable<BrowseLevelQuery["browseV2"]>["groups"][number];

/** The filters of a search that the tree is limited to, such as a platform. */
export type TreeFilters = Readonly<Record<string, readonly string[]>>;

const PAGE_SIZE = 100;
/** The first part of the path of what has no other, as DataHub names it. */
const NO_PATH = "Default";
/** Separates the parts of a path in the index. */
const SEPARATOR = "␟";

/** The containers and folders at one path. */
export function BrowseLevel({
  filters,
  path,
}: {
  readonly filters: TreeFilters;
  readonly path: readonly string[];
}) {
  const [shown, setShown] = useState(PAGE_SIZE);
  const and = Object.entries(filters).map(([field, values]) => ({ field, values }));
  const read = useApiQuery(
    BrowseLevelDocument,
    { path, filters: [{ and }], count: shown },
    { keepPrevious: true },
  );
  const found = read.data?.browseV2;
  if (found === undefined || found === null) return <LoadingOrError read={read} lines={2} />;
  return (
    <>
      <StaleNotice read={read} />
      {found.groups.length === 0 && <p className="hint">{platformTexts.noFolders}</p>}
      <ul className="browse-tree">
        {found.groups.map((group) => (
          <BrowseGroup key={group.name} group={group} filters={filters} path={path} />
        ))}
      </ul>
      {found.total > found.groups.length && (
        <p className="hint" role="status">
          {platformTexts.cut(found.groups.length, found.total)}{" "}
          <button type="button" className="subtle" onClick={() => setShown(shown + PAGE_SIZE)}>
            {platformTexts.showMore}
          </button>
        </p>
      )}
    </>
  );
}

function BrowseGroup({
  group,
  filters,
  path,
}: {
  readonly group: Group;
  readonly filters: TreeFilters;
  readonly path: readonly string[];
}) {
  const [isExpanded, setExpanded] = useState(false);
  const inner = [...path, group.name];
  const entity = group.entity ?? undefined;
  const folder = path.length === 0 && group.name === NO_PATH ? platformTexts.noPath : group.name;
  const name = entity === undefined ? folder : nameOf(entity);
  const label = (isExpanded ? platformTexts.collapse : platformTexts.expand)(name);
  const all = addresses.search("", {
    ...filters,
    browsePathV2: [`${SEPARATOR}${inner.join(SEPARATOR)}`],
  });
  return (
    <li>
      <span className="browse-row">
        <ExpandButton
          hasChildren={group.hasSubGroups}
          isExpanded={isExpanded}
          label={label}
          onToggle={() => setExpanded(!isExpanded)}
        />
        {entity === undefined ? (
          <Link dir="auto" href={all}>
            {name}
          </Link>
        ) : (
          <EntityLink entity={entity} />
        )}
        <span className="number">{platformTexts.entities(group.count)}</span>
      </span>
      {isExpanded && <BrowseLevel filters={filters} path={inner} />}
    </li>
  );
}

/** The tree on the page of a platform. */
export function PlatformContents({ urn }: { readonly urn: string }) {
  return (
    <section className="section" aria-labelledby="folders">
      <h2 id="folders">{platformTexts.folders}</h2>
      <BrowseLevel filters={{ platform: [urn] }} path={[]} />
    </section>
  );
}
