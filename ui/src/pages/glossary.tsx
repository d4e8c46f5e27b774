import { useState } from "react";

import { useMe } from "../api/cache.ts";
import { EmptyState, LoadingOrError, StaleNotice, useTitle } from "../components/states.tsx";
import { TreeTable } from "../components/tree_table.tsx";
import { GlossaryDialogs, type GlossaryAction } from "../glossary/dialogs.tsx";
import { useGlossary, type GlossaryEntry } from "../glossary/hierarchy.ts";
import { GlossaryMenu } from "../glossary/menu.tsx";
import { glossaryTexts } from "../glossary_texts.ts";
import { texts } from "../texts.ts";
import { matchingNodes } from "../tree.ts";

/** With fewer entries, reading is faster than filtering. */
const MIN_ENTRIES_FOR_FILTER = 10;

/** All terms in their groups. */
export default function GlossaryPage() {
  const words = glossaryTexts;
  useTitle(words.title);
  const { glossary, total, ...read } = useGlossary();
  const canCreate = useMe().data?.me?.platformPrivileges.manageGlossaries === true;
  const [action, setAction] = useState<GlossaryAction | null>(null);
  const [created, setCreated] = useState<string | null>(null);
  const [text, setText] = useState("");
  if (glossary === undefined) return <LoadingOrError read={read} lines={12} />;
  const entries = [...glossary.byUrn.values()];
  const groups = entries.filter((entry) => entry.isGroup).length;
  const matches = text.trim() === "" ? null : matchingNodes(glossary, text);
  const create = (what: "term" | "group") => () =>
    setAction({ kind: "create", what, parent: null });
  return (
    <div className="tree-page tree-page-wide">
      <StaleNotice read={read} />
      <div className="section-header">
        <h1>{words.title}</h1>
        {canCreate && (
          <>
            <button type="button" onClick={create("term")}>
              {words.createTerm}
            </button>
            <button type="button" onClick={create("group")}>
              {words.createGroup}
            </button>
          </>
        )}
        {entries.length >= MIN_ENTRIES_FOR_FILTER && (
          <input
            type="search"
            className="column-filter"
            aria-label={words.filter}
            placeholder={words.filter}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </div>
      {entries.length > 0 && (
        <p className="hint">{words.counts(entries.length - groups, groups)}</p>
      )}
      {total > entries.length && <p className="notice">{words.cut(entries.length)}</p>}
      {entries.length === 0 && (
        <EmptyState title={words.none} hint={canCreate ? words.noneHint : words.noneAskHint} />
      )}
      {matches?.size === 0 && (
        <EmptyState title={words.noMatch(text)}>
          <button type="button" onClick={() => setText("")}>
            {words.clearFilter}
          </button>
        </EmptyState>
      )}
      {entries.length > 0 && matches?.size !== 0 && (
        <TreeTable
          words={words}
          title={words.columns.name}
          text={{ title: words.columns.definition, cell: ({ definition }) => definition }}
          columns={[
            { title: words.columns.assets, cell: (entry) => countOf(entry, entry.carriers) },
            { title: words.columns.columns, cell: (entry) => countOf(entry, entry.columnCarriers) },
          ]}
          hierarchy={glossary}
          matches={matches}
          canMove={(entry) => entry.canManage}
          canReceive={(target) =>
            target === null ? canCreate : target.isGroup && target.canManageChildren
          }
          onMove={(entry, target) => setAction({ kind: "move", entry, target })}
          menu={(entry) => <GlossaryMenu entry={entry} onAction={setAction} />}
          nameClass={(entry) => (entry.isGroup ? "tree-group" : undefined)}
          created={created}
          onShown={() => setCreated(null)}
        />
      )}
      <GlossaryDialogs
        action={action}
        glossary={glossary}
        onClose={() => setAction(null)}
        onCreated={(urn) => {
          // Clear the filter, which might hide the new entry.
          setText("");
          setCreated(urn);
        }}
      />
    </div>
  );
}

/** Groups are not carried by anything. */
const countOf = (entry: GlossaryEntry, number: number) =>
  entry.isGroup ? "" : texts.number(number);
