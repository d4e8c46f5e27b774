import { useLayoutEffect, useRef, useState, type DragEvent, type ReactNode } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { ancestorsOf, type Hierarchy, type TreeNode } from "../tree.ts";
import { useFocusFallback } from "./focus.ts";
import { TableScroll } from "./table_scroll.tsx";

/** The data type of a dragged row. */
const DRAG_TYPE = "application/x-docent-entity";
/** Larger hierarchies start collapsed. */
const MAX_EXPANDED_AT_START = 60;

interface TreeColumn<Node> {
  readonly title: string;
  readonly cell: (node: Node) => ReactNode;
}

interface TreeProperties<Node> {
  readonly words: {
    readonly tree: string;
    readonly dropHere: string;
    readonly expand: (name: string) => string;
    readonly collapse: (name: string) => string;
  };
  /** The title of the column with the names. */
  readonly title: string;
  /** A text beside the name, cut to one line. */
  readonly text?: TreeColumn<Node>;
  /** The columns with numbers. */
  readonly columns: readonly TreeColumn<Node>[];
  readonly hierarchy: Hierarchy<Node>;
  /** The URNs that match the filter; `null` without a filter. */
  readonly matches: ReadonlySet<string> | null;
  readonly canMove: (node: Node) => boolean;
  /** Whether the user may add something to a node; `null` is the top level. */
  readonly canReceive: (target: Node | null) => boolean;
  readonly onMove: (node: Node, target: Node | null) => void;
  readonly menu: (node: Node) => ReactNode;
  /** The class of a name, to tell kinds of nodes apart. */
  readonly nameClass?: (node: Node) => string | undefined;
  /** A node that was just created, to scroll to and focus. */
  readonly created: string | null;
  readonly onShown: () => void;
}

/** A hierarchy, one node per row. Rows can be dragged onto each other; the menu offers the same. */
export function TreeTable<Node extends TreeNode<Node>>(properties: TreeProperties<Node>) {
  const { words, columns, hierarchy, matches, created, onShown } = properties;
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const startsExpanded = hierarchy.byUrn.size <= MAX_EXPANDED_AT_START;
  const isExpanded = (node: Node) => matches !== null || toggled.has(node.urn) !== startsExpanded;
  const toggle = (...nodes: readonly Node[]) =>
    setToggled((before) => {
      const next = new Set(before);
      for (const { urn } of nodes) if (!next.delete(urn)) next.add(urn);
      return next;
    });
  const visible = visibleNodes(hierarchy.roots, isExpanded, matches);
  const table = useRef<HTMLTableElement>(null);
  const linkOf = (urn: string | undefined) =>
    table.current?.querySelector<HTMLElement>(`[data-urn="${CSS.escape(urn ?? "")}"] a`);
  const before = useRef(visible);
  // After a deletion, focus the next row.
  useFocusFallback(table, () => {
    const remaining = new Set(visible.map(({ urn }) => urn));
    const index = before.current.findIndex(({ urn }) => !remaining.has(urn));
    return linkOf(visible[Math.min(index, visible.length - 1)]?.urn);
  });
  useLayoutEffect(() => {
    before.current = visible;
    const node = hierarchy.byUrn.get(created ?? "");
    if (node === undefined) return;
    const collapsed = ancestorsOf(node).filter((ancestor) => !isExpanded(ancestor));
    if (collapsed.length > 0) {
      toggle(...collapsed);
      return;
    }
    linkOf(node.urn)?.focus();
    onShown();
  });
  const drag = useDrag(properties.canReceive, properties.onMove);
  return (
    <TableScroll label={words.tree}>
      <table className="data-table tree" aria-label={words.tree} ref={table}>
        <thead {...drag.dropTarget(null)}>
          <tr>
            <th scope="col">{drag.canDropOn(null) ? words.dropHere : properties.title}</th>
            {properties.text !== undefined && (
              <th scope="col" className="tree-text">
                {properties.text.title}
              </th>
            )}
            {columns.map(({ title }) => (
              <th key={title} scope="col" className="number">
                {title}
              </th>
            ))}
            <td className="row-actions" />
          </tr>
        </thead>
        <tbody>
          {visible.map((node) => (
            <tr
              key={node.urn}
              data-urn={node.urn}
              draggable={properties.canMove(node)}
              onDragStart={(event) => drag.start(event, node)}
              onDragEnd={drag.end}
              {...drag.dropTarget(node)}
            >
              <th scope="row">
                <span
                  className="tree-name"
                  style={{ paddingInlineStart: `${node.depth * 1.3}rem` }}
                >
                  <ExpandButton
                    hasChildren={node.children.length > 0}
                    isExpanded={isExpanded(node)}
                    label={(isExpanded(node) ? words.collapse : words.expand)(node.name)}
                    onToggle={() => toggle(node)}
                  />
                  <Link
                    dir="auto"
                    href={addresses.entity(node.urn)}
                    className={properties.nameClass?.(node) ?? ""}
                  >
                    {node.name}
                  </Link>
                </span>
              </th>
              {properties.text !== undefined && (
                <td className="single-line tree-text" dir="auto">
                  {properties.text.cell(node)}
                </td>
              )}
              {columns.map(({ title, cell }) => (
                <td key={title} className="number">
                  {cell(node)}
                </td>
              ))}
              <td className="row-actions">{properties.menu(node)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}

/** The state of a drag. A target of `null` is the top level. */
function useDrag<Node extends TreeNode<Node>>(
  canReceive: (target: Node | null) => boolean,
  onMove: (node: Node, target: Node | null) => void,
) {
  const [dragged, setDragged] = useState<Node | null>(null);
  const [over, setOver] = useState<Node | null | undefined>(undefined);
  const canDropOn = (target: Node | null) => {
    if (dragged === null || dragged === target || dragged.parent === target) return false;
    if (target !== null && ancestorsOf(target).includes(dragged)) return false;
    return canReceive(target);
  };
  const end = () => {
    setDragged(null);
    setOver(undefined);
  };
  return {
    canDropOn,
    end,
    start: (event: DragEvent, node: Node) => {
      event.dataTransfer.setData(DRAG_TYPE, node.urn);
      setDragged(node);
    },
    dropTarget: (target: Node | null) => ({
      className: [
        canDropOn(target) ? "drop-allowed" : "",
        over === target && dragged !== null ? "drop-target" : "",
      ].join(" "),
      onDragOver: (event: DragEvent) => {
        const canDrop = canDropOn(target);
        if (canDrop) event.preventDefault();
        setOver(canDrop ? target : undefined);
      },
      onDrop: (event: DragEvent) => {
        event.preventDefault();
        if (dragged !== null && canDropOn(target)) onMove(dragged, target);
        end();
      },
    }),
  };
}

/** Shows or hides what is in a node; an empty space for a node without children. */
export function ExpandButton({
  hasChildren,
  isExpanded,
  label,
  onToggle,
}: {
  readonly hasChildren: boolean;
  readonly isExpanded: boolean;
  readonly label: string;
  readonly onToggle: () => void;
}) {
  if (!hasChildren) return <span className="expand-button" aria-hidden="true" />;
  return (
    <button
      type="button"
      className="expand-button"
      aria-expanded={isExpanded}
      aria-label={label}
      onClick={onToggle}
    >
      {isExpanded ? "▾" : "▸"}
    </button>
  );
}

function visibleNodes<Node extends TreeNode<Node>>(
  nodes: readonly Node[],
  isExpanded: (node: Node) => boolean,
  matches: ReadonlySet<string> | null,
): Node[] {
  return nodes
    .filter((node) => matches === null || matches.has(node.urn))
    .flatMap((node) => [
      node,
      ...(isExpanded(node) ? visibleNodes(node.children, isExpanded, matches) : []),
    ]);
}
