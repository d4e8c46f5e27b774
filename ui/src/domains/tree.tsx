import { useLayoutEffect, useRef, useState, type DragEvent } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useFocusKept } from "../components/focus.ts";
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
  /** A domain that was just made: it is brought into view, and has the focus. */
  readonly created: string | null;
  readonly onShown: () => void;
}

/** All domains, one line for each. A line can be dragged onto another, which its menu can do too. */
export function DomainTree({ forest, wanted, canMoveToTop, onAction, created, onShown }: TreeProperties) {
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const isOpenAtFirst = forest.byUrn.size <= OPEN_UP_TO;
  const isOpen = (tree: Tree) => wanted !== null || toggled.has(tree.urn) !== isOpenAtFirst;
  const toggle = (...trees: readonly Tree[]) =>
    setToggled((before) => {
      const next = new Set(before);
      for (const { urn } of trees) if (!next.delete(urn)) next.add(urn);
      return next;
    });
  const lines = linesOf(forest.roots, isOpen, wanted);
  const table = useRef<HTMLTableElement>(null);
  const linkOf = (urn: string | undefined) =>
    table.current?.querySelector<HTMLElement>(`[data-urn="${CSS.escape(urn ?? "")}"] a`);
  const before = useRef(lines);
  // Whoever has deleted a domain goes on at the next one.
  useFocusKept(table, () => {
    const left = new Set(lines.map((tree) => tree.urn));
    const place = before.current.findIndex((tree) => !left.has(tree.urn));
    return linkOf(lines[Math.min(place, lines.length - 1)]?.urn);
  });
  useLayoutEffect(() => {
    before.current = lines;
    const tree = forest.byUrn.get(created ?? "");
    if (tree === undefined) return;
    const closed = pathTo(tree).filter((above) => !isOpen(above));
    if (closed.length > 0) {
      toggle(...closed);
      return;
    }
    linkOf(tree.urn)?.focus();
    onShown();
  });
  const drag = useDrag(canMoveToTop, onAction);
  return (
    <div className="table-scroll">
      <table className="quiet-table tree" aria-label={texts.domains.tree} ref={table}>
        <thead {...drag.onto(null)}>
          <tr>
            <th scope="col">{drag.mayDropOn(null) ? texts.domains.dropHere : texts.domains.columns.name}</th>
            <th scope="col" className="number">
              {texts.domains.columns.direct}
            </th>
            <th scope="col" className="number">
              {texts.domains.columns.recursive}
            </th>
            <td className="tree-actions" />
          </tr>
        </thead>
        <tbody>
          {lines.map((tree) => (
            <tr
              key={tree.urn}
              data-urn={tree.urn}
              draggable={tree.canManage}
              onDragStart={(event) => drag.start(event, tree)}
              onDragEnd={drag.end}
              {...drag.onto(tree)}
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

/** What is dragged, and what it is above. The top is a place, too: `null`. */
function useDrag(canMoveToTop: boolean, onAction: (action: DomainAction) => void) {
  const [dragged, setDragged] = useState<Tree | null>(null);
  const [over, setOver] = useState<Tree | null | undefined>(undefined);
  const mayDropOn = (target: Tree | null) => {
    if (dragged === null || dragged === target || dragged.parent === target) return false;
    return target === null ? canMoveToTop : target.canManageChildren && !pathTo(target).includes(dragged);
  };
  const end = () => {
    setDragged(null);
    setOver(undefined);
  };
  return {
    mayDropOn,
    end,
    start: (event: DragEvent, tree: Tree) => {
      event.dataTransfer.setData(DRAGGED, tree.urn);
      setDragged(tree);
    },
    onto: (target: Tree | null) => ({
      className: [mayDropOn(target) ? "drop-place" : "", over === target && dragged !== null ? "drop-target" : ""].join(
        " ",
      ),
      onDragOver: (event: DragEvent) => {
        const mayDrop = mayDropOn(target);
        if (mayDrop) event.preventDefault();
        setOver(mayDrop ? target : undefined);
      },
      onDrop: (event: DragEvent) => {
        event.preventDefault();
        if (dragged !== null && mayDropOn(target)) onAction({ kind: "move", tree: dragged, target });
        end();
      },
    }),
  };
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
