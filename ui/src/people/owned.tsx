import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { countsOf } from "../browse/counts.ts";
import { EntityLink } from "../components/common.tsx";
import { StaleNotice } from "../components/states.tsx";
import { GroupsOfUserDocument, ValueCountsDocument } from "../generated/operations.ts";
import { RailSection } from "../rail/section.tsx";
import { ENTITY_TYPE } from "../search/state.ts";
import { peopleTexts } from "../people_texts.ts";
import { texts } from "../texts.ts";

/** How much a user or group owns of each kind, as links to search. */
export function OwnedKinds({ urn }: { readonly urn: string }) {
  const filters = [{ and: [{ field: "owners", values: [urn] }] }];
  const read = useApiQuery(ValueCountsDocument, { facets: [ENTITY_TYPE], filters });
  // Only kinds that search shows, so that the links lead to as many results.
  const kinds = [...countsOf(read.data, ENTITY_TYPE)].flatMap(([type, count]) => {
    const words = texts.entityTypes[type];
    return words === undefined ? [] : [{ type, words, count }];
  });
  if (kinds.length === 0) return <StaleNotice read={read} />;
  return (
    <ul className="chips kind-counts" aria-label={peopleTexts.ownedKinds}>
      {kinds.map(({ type, words, count }) => (
        <li key={type}>
          <Link
            className="chip"
            href={addresses.search("", { owners: [urn], [ENTITY_TYPE]: [type] })}
          >
            {count === 1 ? words.one : words.many}{" "}
            <span className="number">{texts.number(count)}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

/** The groups of a user. */
export function GroupsOfUser({ urn }: { readonly urn: string }) {
  const read = useApiQuery(GroupsOfUserDocument, { urn });
  const groups = (read.data?.corpUser?.groups?.relationships ?? []).flatMap(({ entity }) =>
    entity === null || entity === undefined ? [] : [entity],
  );
  if (groups.length === 0) return <StaleNotice read={read} />;
  return (
    <RailSection id="groups-of-user" heading={peopleTexts.groupsOf}>
      <ul className="chips">
        {groups.map((group) => (
          <li key={group.urn} className="chip">
            <EntityLink entity={group} />
          </li>
        ))}
      </ul>
    </RailSection>
  );
}
