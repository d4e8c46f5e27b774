import { useState } from "react";

import { useMe } from "../api/cache.ts";
import { LoadingOrError, EmptyState, StaleNotice, useTitle } from "../components/states.tsx";
import { DomainDialogs, type DomainAction } from "../domains/dialogs.tsx";
import { DomainTree } from "../domains/tree.tsx";
import { useDomainHierarchy } from "../domain_hierarchy.ts";
import { texts } from "../texts.ts";
import { matchingNodes } from "../tree.ts";

/** With fewer domains, reading is faster than filtering. */
const MIN_DOMAINS_FOR_FILTER = 10;

export default function DomainsPage() {
  useTitle(texts.domains.title);
  const domains = useDomainHierarchy();
  const { hierarchy } = domains;
  const me = useMe();
  const [action, setAction] = useState<DomainAction | null>(null);
  const [created, setCreated] = useState<string | null>(null);
  const [text, setText] = useState("");
  const privileges = me.data?.me?.platformPrivileges;
  if (hierarchy === undefined) return <LoadingOrError read={domains} lines={12} />;
  const matches = text.trim() === "" ? null : matchingNodes(hierarchy, text);
  const canCreate = privileges?.createDomains === true || privileges?.manageDomains === true;
  return (
    <div className="tree-page">
      <StaleNotice read={domains} />
      <div className="section-header">
        <h1>{texts.domains.title}</h1>
        {canCreate && (
          <button type="button" onClick={() => setAction({ kind: "create", parent: null })}>
            {texts.domains.create}
          </button>
        )}
        {hierarchy.byUrn.size >= MIN_DOMAINS_FOR_FILTER && (
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
      {hierarchy.byUrn.size === 0 && (
        <EmptyState
          title={texts.domains.none}
          hint={canCreate ? texts.domains.noneHint : texts.domains.noneAskHint}
        />
      )}
      {matches?.size === 0 && (
        <EmptyState title={texts.domains.noMatch(text)}>
          <button type="button" onClick={() => setText("")}>
            {texts.domains.clearFilter}
          </button>
        </EmptyState>
      )}
      {hierarchy.byUrn.size > 0 && matches?.size !== 0 && (
        <DomainTree
          hierarchy={hierarchy}
          matches={matches}
          canMoveToTopLevel={privileges?.manageDomains === true}
          onAction={setAction}
          created={created}
          onShown={() => setCreated(null)}
        />
      )}
      <DomainDialogs
        action={action}
        hierarchy={hierarchy}
        onClose={() => setAction(null)}
        onCreated={(urn) => {
          // Clear the filter, which might hide the new domain.
          setText("");
          setCreated(urn);
        }}
      />
    </div>
  );
}
