// Hierarchies of named entities, such as domains and the glossary, loaded as a whole.

import { LOCALE } from "./text_forms.ts";

export interface TreeNode<Node> {
  readonly urn: string;
  readonly name: string;
  readonly parent: Node | null;
  readonly children: readonly Node[];
  readonly depth: number;
}

export interface Hierarchy<Node> {
  readonly roots: readonly Node[];
  readonly byUrn: ReadonlyMap<string, Node>;
}

interface TreeRecord {
  readonly urn: string;
  readonly name: string;
  readonly parent: string | null;
}

/** Sorts numbers in names numerically: 2 before 10. */
export const collator = new Intl.Collator(LOCALE, { numeric: true });

/** Builds a hierarchy from records that name their parents. `create` makes the node of a record,
 *  `complete` finishes it when its children are complete. */
export function buildHierarchy<Item extends TreeRecord, Node extends TreeNode<Node>>(
  records: readonly Item[],
  create: (record: Item, position: Pick<TreeNode<Node>, "parent" | "depth">) => Node,
  complete: (node: Node) => void = () => {},
): Hierarchy<Node> {
  const known = new Set(records.map((record) => record.urn));
  const children = new Map<string | null, Item[]>();
  for (const record of records) {
    // Children of an unknown parent become roots.
    const parent = record.parent !== null && known.has(record.parent) ? record.parent : null;
    const siblings = children.get(parent) ?? [];
    siblings.push(record);
    children.set(parent, siblings);
  }
  const byUrn = new Map<string, Node>();
  const nodesOf = (parent: Node | null, depth: number): Node[] =>
    (children.get(parent?.urn ?? null) ?? [])
      .toSorted((left, right) => collator.compare(left.name, right.name))
      .map((record) => {
        const node = create(record, { parent, depth });
        byUrn.set(record.urn, node);
        (node as { children: readonly Node[] }).children = nodesOf(node, depth + 1);
        complete(node);
        return node;
      });
  return { roots: nodesOf(null, 0), byUrn };
}

/** A node under construction. */
export type Mutable<Node> = { -readonly [Name in keyof Node]: Node[Name] };

/** The ancestors of a node, from the root down. */
export function ancestorsOf<Node extends TreeNode<Node>>(node: Node): Node[] {
  return node.parent === null ? [] : [...ancestorsOf(node.parent), node.parent];
}

/** Nodes whose name contains the text, and their ancestors, without the subtree of `excluded`. */
export function matchingNodes<Node extends TreeNode<Node>>(
  hierarchy: Hierarchy<Node>,
  text: string,
  excluded?: string,
): ReadonlySet<string> {
  const needle = text.trim().toLocaleLowerCase();
  const matches = new Set<string>();
  for (const node of hierarchy.byUrn.values()) {
    if (!node.name.toLocaleLowerCase().includes(needle)) continue;
    const path = [...ancestorsOf(node), node];
    if (path.some(({ urn }) => urn === excluded)) continue;
    for (const { urn } of path) matches.add(urn);
  }
  return matches;
}
