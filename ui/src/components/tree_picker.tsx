import { useState } from "react";

import { matchingNodes, type Hierarchy, type TreeNode } from "../tree.ts";
import { OptionPicker } from "./option_picker.tsx";
import { LoadingOrError, StaleNotice, type ReadState } from "./states.tsx";

interface PickerWords {
  readonly title: string;
  readonly filter: string;
  /** Marks the current one. */
  readonly current: string;
  readonly empty: string;
  readonly none: (query: string) => string;
  readonly insideItself: (name: string) => string;
}

interface PickerProperties<Node> {
  readonly words: PickerWords;
  /** The hierarchy, once it is loaded. */
  readonly hierarchy: Hierarchy<Node> | undefined;
  readonly read: ReadState;
  readonly current?: string | undefined;
  readonly onPick: (urn: string) => void;
  /** The option for none, if offered. */
  readonly none?: { readonly label: string; readonly onPick: () => void } | undefined;
  /** Whether a node can be picked; all can by default. */
  readonly canPick?: ((node: Node) => boolean) | undefined;
  /** A node to leave out, with its descendants. */
  readonly excluded?: string | undefined;
}

/** Picks a node of a hierarchy. Typing filters; the arrow keys and Enter pick. */
export function TreePicker<Node extends TreeNode<Node>>({
  words,
  hierarchy,
  read,
  current,
  onPick,
  none,
  canPick,
  excluded,
}: PickerProperties<Node>) {
  const [text, setText] = useState("");
  if (hierarchy === undefined) return <LoadingOrError read={read} />;
  const visible = visibleNodes(hierarchy, text, excluded);
  const needle = text.trim().toLocaleLowerCase();
  const options = visible.map((node) => ({
    id: node.urn,
    label: node.name,
    hint: node.urn === current ? words.current : undefined,
    depth: node.depth,
    isMatch: needle === "" || node.name.toLocaleLowerCase().includes(needle),
    isDisabled: canPick?.(node) === false,
  }));
  return (
    <div className="picker">
      <StaleNotice read={read} />
      <OptionPicker
        filterLabel={words.filter}
        listLabel={words.title}
        text={text}
        onText={setText}
        options={options}
        current={current}
        onPick={onPick}
      />
      {visible.length === 0 && (
        <p className="hint">{emptyMessage(words, hierarchy, text, excluded)}</p>
      )}
      {none !== undefined && (
        <div className="dialog-actions">
          <button type="button" onClick={none.onPick}>
            {none.label}
          </button>
        </div>
      )}
    </div>
  );
}

/** Explains an empty list. */
function emptyMessage<Node extends TreeNode<Node>>(
  words: PickerWords,
  hierarchy: Hierarchy<Node>,
  text: string,
  excluded: string | undefined,
): string {
  if (text.trim() === "") return words.empty;
  const moved = hierarchy.byUrn.get(excluded ?? "");
  const isInside = moved !== undefined && matchingNodes(hierarchy, text).size > 0;
  return isInside ? words.insideItself(moved.name) : words.none(text);
}

/** The nodes to list, from the root down: all, or the matches and their ancestors. */
function visibleNodes<Node extends TreeNode<Node>>(
  hierarchy: Hierarchy<Node>,
  text: string,
  excluded: string | undefined,
): Node[] {
  const matches = text.trim() === "" ? null : matchingNodes(hierarchy, text, excluded);
  const visible: Node[] = [];
  const visit = (nodes: readonly Node[]) => {
    for (const node of nodes) {
      if (node.urn === excluded || (matches !== null && !matches.has(node.urn))) continue;
      visible.push(node);
      visit(node.children);
    }
  };
  visit(hierarchy.roots);
  return visible;
}
