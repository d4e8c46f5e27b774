import { Menu } from "../components/menu.tsx";
import { TreeTable } from "../components/tree_table.tsx";
import type { DomainHierarchy, DomainNode } from "../domain_hierarchy.ts";
import { texts } from "../texts.ts";
import type { DomainAction } from "./dialogs.tsx";

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

/** All domains with their dataset counts. */
export function DomainTree({ canMoveToTopLevel, onAction, ...rest }: TreeProperties) {
  const words = texts.domains;
  return (
    <TreeTable
      words={words}
      title={words.columns.name}
      columns={[
        { title: words.columns.direct, cell: (node) => texts.number(node.directDatasets) },
        { title: words.columns.total, cell: (node) => texts.number(node.totalDatasets) },
      ]}
      canMove={(node) => node.canManage}
      canReceive={(target) => (target === null ? canMoveToTopLevel : target.canManageChildren)}
      onMove={(node, target) => onAction({ kind: "move", node, target })}
      menu={(node) => <DomainMenu node={node} onAction={onAction} />}
      {...rest}
    />
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
