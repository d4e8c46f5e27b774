import { useState, type DragEvent } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { Menu } from "../components/menu.tsx";
import { pathTo, type Forest, type Tree } from "../forest.ts";
import { texts } from "../texts.ts";
import type { DomainAction } from "./dialogs.tsx";

/** How domains are named while they are dragged. */
const DRAGGED = "application/x-docent-domain";
/** Small forests are shown whole; of larger ones the top. */
const OPEN_UP_TO = 60;

interface TreeProperties {
  readonly forest: Forest;
  /** What a filter left over; everything if there is none. */
  readonly wanted: ReadonlySet<string> | null;
  /** Whether a domain may be put at the top. */
  readonly canMoveToTop: boolean;
  readonly onAction: (action: DomainAction) => void;
}

/** All domains, one line for each. A line can be dragged onto another, which its menu can do too. */
export function DomainTree({ forest, wanted, canMoveToTop, onAction }: TreeProperties) {
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const isOpenAtFirst = forest.byUrn.size <= OPEN_UP_TO;
  const isOpen = (tree: Tree) => wanted !== null || toggled.has(tree.urn) !== isOpenAtFirst;
  const toggle = (tree: Tree) =>
    setToggled((before) => {
      const next = new Set(before);
      if (!next.delete(tree.urn)) next.add(tree.urn);
      return next;
    });
  const drop = (event: DragEvent, target: Tree | null) => {
    const tree = forest.byUrn.get(event.dataTransfer.getData(DRAGGED));
    event.preventDefault();
    if (tree === undefined || tree === target) return;
    const isInside = target !== null && pathTo(target).includes(tree);
    const mayHold = target === null ? canMoveToTop : target.canManageChildren;
    if (mayHold && !isInside && tree.parent !== target) onAction({ kind: "move", tree, target });
  };
  const lines = linesOf(forest.roots, isOpen, wanted);
  return (
    <div className="table-scroll">
      <table className="quiet-table tree" aria-label={texts.domains.tree}>
        <thead
          title={canMoveToTop ? texts.domains.dropHere : undefined}
          onDragOver={(event) => event.preventDefault()}
          onDrop={(event) => drop(event, null)}
        >
          <tr>
            <th scope="col">{texts.domains.columns.name}</th>
            <th scope="col" className="number">
              {texts.domains.columns.direct}
            </th>
            <th scope="col" className="number">
              {texts.domains.columns.recursive}
            </th>
            <td />
          </tr>
        </thead>
        <tbody>
          {lines.map((tree) => (
            <tr
              key={tree.urn}
              draggable={tree.canManage}
              onDragStart={(event) => event.dataTransfer.setData(DRAGGED, tree.urn)}
              onDragOver={(event) => tree.canManageChildren && event.preventDefault()}
              onDrop={(event) => drop(event, tree)}
            >
              <th scope="row">
                <span className="tree-name" style={{ paddingInlineStart: `${tree.depth * 1.3}rem` }}>
                  <Fold tree={tree} isOpen={isOpen(tree)} onToggle={() => toggle(tree)} />
                  <Link href={addresses.domain(tree.urn)}>{tree.name}</Link>
                </span>
              </th>
              <td className="number">{texts.number(tree.direct)}</td>
              <td className="number">{texts.number(tree.recursive)}</td>
              <td className="tree-actions">
                <DomainMenu tree={tree} onAction={onAction} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Fold({
  tree,
  isOpen,
  onToggle,
}: {
  readonly tree: Tree;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}) {
  if (tree.children.length === 0) return <span className="fold" aria-hidden="true" />;
  return (
    <button
      type="button"
      className="fold"
      aria-expanded={isOpen}
      aria-label={isOpen ? texts.domains.collapse(tree.name) : texts.domains.expand(tree.name)}
      onClick={onToggle}
    >
      {isOpen ? "▾" : "▸"}
    </button>
  );
}

/** What may be done to a domain; nothing at all is no menu. */
export function DomainMenu({
  tree,
  onAction,
}: {
  readonly tree: Tree;
  readonly onAction: (action: DomainAction) => void;
}) {
  const inside = [{ label: texts.domains.createInside, onSelect: () => onAction({ kind: "create", parent: tree }) }];
  const itself = [
    { label: texts.domains.rename, onSelect: () => onAction({ kind: "rename", tree }) },
    { label: texts.domains.move, onSelect: () => onAction({ kind: "move", tree }) },
    { label: texts.domains.remove, onSelect: () => onAction({ kind: "delete", tree }), isDangerous: true },
  ];
  const items = [...(tree.canManageChildren ? inside : []), ...(tree.canManage ? itself : [])];
  return items.length === 0 ? null : <Menu label={texts.domains.actions(tree.name)} trigger="⋯" items={items} />;
}

function linesOf(trees: readonly Tree[], isOpen: (tree: Tree) => boolean, wanted: ReadonlySet<string> | null): Tree[] {
  return trees
    .filter((tree) => wanted === null || wanted.has(tree.urn))
    .flatMap((tree) => [tree, ...(isOpen(tree) ? linesOf(tree.children, isOpen, wanted) : [])]);
}
