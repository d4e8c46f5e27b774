import { useLayoutEffect, useRef, useState, type DragEvent } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useFocusFallback } from "../components/focus.ts";
import { Menu } from "../components/menu.tsx";
import { ancestorsOf, type DomainHierarchy, type DomainNode } from "../domain_hierarchy.ts";
import { texts } from "../texts.ts";
import type { DomainAction } from "./dialogs.tsx";

/** The data type of a dragged domain. */
const DRAG_TYPE = "application/x-docent-domain";
/** Larger hierarchies start collapsed. */
const MAX_EXPANDED_AT_START = 60;

interface TreeProperties {
  readonly hierarchy: DomainHierarchy;
  /** The URNs that match the filter; `null` without a filter. */
  readonly matches: ReadonlySet<string> | null;
  /** Whether the user may move domains to the top level. */
  readonly canMoveToTopLevel: boolean;
  readonly onAction: (action: DomainAction) => void;
  /** A domain that was just created, to scroll to and focus. */
  readonly created: string | null;
  readonly onShown: () => void;
}

/** All domains, one per row. Rows can be dragged onto each other; the menu offers the same. */
export function DomainTree({
  hierarchy,
  matches,
  canMoveToTopLevel,
  onAction,
  created,
  onShown,
}: TreeProperties) {
  const [toggleFilter, setToggled] = useState<ReadonlySet<string>>(new Set());
  const startsExpanded = hierarchy.byUrn.size <= MAX_EXPANDED_AT_START;
  const isExpanded = (tree: DomainNode) =>
    matches !== null || toggleFilter.has(tree.urn) !== startsExpanded;
  const toggle = (...nodes: readonly DomainNode[]) =>
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
  // After a deletion, focus the next domain.
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
  const drag = useDrag(canMoveToTopLevel, onAction);
  return (
    <div className="table-scroll">
      <table className="data-table tree" aria-label={texts.domains.tree} ref={table}>
        <thead {...drag.dropTarget(null)}>
          <tr>
            <th scope="col">
              {drag.canDropOn(null) ? texts.domains.dropHere : texts.domains.columns.name}
            </th>
            <th scope="col" className="number">
              {texts.domains.columns.direct}
            </th>
            <th scope="col" className="number">
              {texts.domains.columns.total}
            </th>
            <td className="row-actions" />
          </tr>
        </thead>
        <tbody>
          {visible.map((node) => (
            <tr
              key={node.urn}
              data-urn={node.urn}
              draggable={node.canManage}
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
                    node={node}
                    isExpanded={isExpanded(node)}
                    onToggle={() => toggle(node)}
                  />
                  <Link href={addresses.domain(node.urn)}>{node.name}</Link>
                </span>
              </th>
              <td className="number">{texts.number(node.directDatasets)}</td>
              <td className="number">{texts.number(node.totalDatasets)}</td>
              <td className="row-actions">
                <DomainMenu node={node} onAction={onAction} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The state of a drag. A target of `null` is the top level. */
function useDrag(canMoveToTopLevel: boolean, onAction: (action: DomainAction) => void) {
  const [dragged, setDragged] = useState<DomainNode | null>(null);
  const [over, setOver] = useState<DomainNode | null | undefined>(undefined);
  const canDropOn = (target: DomainNode | null) => {
    if (dragged === null || dragged === target || dragged.parent === target) return false;
    return target === null
      ? canMoveToTopLevel
      : target.canManageChildren && !ancestorsOf(target).includes(dragged);
  };
  const end = () => {
    setDragged(null);
    setOver(undefined);
  };
  return {
    canDropOn,
    end,
    start: (event: DragEvent, node: DomainNode) => {
      event.dataTransfer.setData(DRAG_TYPE, node.urn);
      setDragged(node);
    },
    dropTarget: (target: DomainNode | null) => ({
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
        if (dragged !== null && canDropOn(target))
          onAction({ kind: "move", node: dragged, target });
        end();
      },
    }),
  };
}

function ExpandButton({
  node,
  isExpanded,
  onToggle,
}: {
  readonly node: DomainNode;
  readonly isExpanded: boolean;
  readonly onToggle: () => void;
}) {
  if (node.children.length === 0) return <span className="expand-button" aria-hidden="true" />;
  return (
    <button
      type="button"
      className="expand-button"
      aria-expanded={isExpanded}
      aria-label={isExpanded ? texts.domains.collapse(node.name) : texts.domains.expand(node.name)}
      onClick={onToggle}
    >
      {isExpanded ? "▾" : "▸"}
    </button>
  );
}

/** The actions that the user may take on a domain. Renders nothing if there are none. */
export function DomainMenu({
  node,
  onAction,
}: {
  readonly node: DomainNode;
  readonly onAction: (action: DomainAction) => void;
}) {
  const childActions = [
    {
      label: texts.domains.createSubdomain,
      onSelect: () => onAction({ kind: "create", parent: node }),
    },
  ];
  const ownActions = [
    { label: texts.domains.rename, onSelect: () => onAction({ kind: "rename", node }) },
    { label: texts.domains.move, onSelect: () => onAction({ kind: "move", node }) },
    {
      label: texts.domains.remove,
      onSelect: () => onAction({ kind: "delete", node }),
      isDangerous: true,
    },
  ];
  const items = [
    ...(node.canManageChildren ? childActions : []),
    ...(node.canManage ? ownActions : []),
  ];
  return items.length === 0 ? null : (
    <Menu label={texts.domains.actions(node.name)} trigger="⋯" items={items} />
  );
}

function visibleNodes(
  nodes: readonly DomainNode[],
  isExpanded: (node: DomainNode) => boolean,
  matches: ReadonlySet<string> | null,
): DomainNode[] {
  return nodes
    .filter((node) => matches === null || matches.has(node.urn))
    .flatMap((node) => [
      node,
      ...(isExpanded(node) ? visibleNodes(node.children, isExpanded, matches) : []),
    ]);
}
