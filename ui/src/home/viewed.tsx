import { useState } from "react";

import { useApiQuery } from "../api/cache.ts";
import { EntityLink } from "../components/common.tsx";
import { NamesDocument } from "../generated/operations.ts";
import { locationOf, type Nameable } from "../names.ts";
import { texts } from "../texts.ts";
import { forgetViews, recentViews } from "./recent_views.ts";

/** What the user has viewed last in this browser; nothing until there is something. */
export function RecentlyViewed({ user }: { readonly user: string }) {
  const [urns, setUrns] = useState(() => recentViews(user));
  const read = useApiQuery(NamesDocument, { urns: [...urns] }, { enabled: urns.length > 0 });
  // Without those that were deleted, or that the user may no longer see.
  const entities = (read.data?.entities ?? []).flatMap((entity) =>
    entity === null || entity === undefined ? [] : [entity],
  );
  if (entities.length === 0) return null;
  return (
    <section aria-labelledby="home-viewed">
      <h2 id="home-viewed">{texts.viewed.heading}</h2>
      <ul className="row-list">
        {entities.map((entity) => (
          <li key={entity.urn}>
            <span>
              <EntityLink entity={entity as Nameable & { readonly urn: string }} />
              {"parentContainers" in entity && (
                <span className="hint" dir="auto">
                  {" "}
                  {locationOf(entity)}
                </span>
              )}
            </span>
          </li>
        ))}
      </ul>
      <p className="hint">
        {texts.viewed.hint}{" "}
        <button
          type="button"
          className="subtle"
          aria-label={texts.viewed.clearLabel}
          onClick={() => {
            forgetViews(user);
            setUrns([]);
          }}
        >
          {texts.viewed.clear}
        </button>
      </p>
    </section>
  );
}
