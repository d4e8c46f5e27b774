import { useState } from "react";

import { useMe } from "../api/cache.ts";
import { Awaited, Empty, Outdated, useTitle } from "../components/states.tsx";
import { DomainDialogs, type DomainAction } from "../domains/dialogs.tsx";
import { DomainTree } from "../domains/tree.tsx";
import { matching, useForest } from "../forest.ts";
import { texts } from "../texts.ts";

/** A handful of domains is read faster than a filter is typed. */
const WORTH_A_FILTER = 10;

export default function DomainsPage() {
  useTitle(texts.domains.title);
  const domains = useForest();
  const { forest } = domains;
  const me = useMe();
  const [action, setAction] = useState<DomainAction | null>(null);
  const [created, setCreated] = useState<string | null>(null);
  const [text, setText] = useState("");
  const privileges = me.data?.me?.platformPrivileges;
  if (forest === undefined) return <Awaited read={domains} lines={12} />;
  const wanted = text.trim() === "" ? null : matching(forest, text);
  const canCreate = privileges?.createDomains === true || privileges?.manageDomains === true;
  return (
    <div className="tree-page">
      <Outdated read={domains} />
      <div className="section-head">
        <h1>{texts.domains.title}</h1>
        {canCreate && (
          <button type="button" onClick={() => setAction({ kind: "create", parent: null })}>
            {texts.domains.create}
          </button>
        )}
        {forest.byUrn.size >= WORTH_A_FILTER && (
          <input
            type="search"
            className="column-filter"
            aria-label={texts.domains.filter}
            placeholder={texts.domains.filter}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </div>
      {forest.byUrn.size === 0 && (
        <Empty title={texts.domains.none} hint={canCreate ? texts.domains.noneHint : texts.domains.noneAskHint} />
      )}
      {wanted?.size === 0 && (
        <Empty title={texts.domains.noMatch(text)}>
          <button type="button" onClick={() => setText("")}>
            {texts.domains.clearFilter}
          </button>
        </Empty>
      )}
      {forest.byUrn.size > 0 && wanted?.size !== 0 && (
        <DomainTree
          forest={forest}
          wanted={wanted}
          canMoveToTop={privileges?.manageDomains === true}
          onAction={setAction}
          created={created}
          onShown={() => setCreated(null)}
        />
      )}
      <DomainDialogs
        action={action}
        forest={forest}
        onClose={() => setAction(null)}
        onCreated={(urn) => {
          // Whatever was filtered for, this is what one wants to see now.
          setText("");
          setCreated(urn);
        }}
      />
    </div>
  );
}
