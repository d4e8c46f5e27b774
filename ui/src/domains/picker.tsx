import { useState } from "react";

import { Dialog } from "../components/dialog.tsx";
import { focusOnMount } from "../components/focus.ts";
import { LoadingOrError, StaleNotice } from "../components/states.tsx";
import {
  matchingDomains,
  useDomainHierarchy,
  type DomainHierarchy,
  type DomainNode,
} from "../domain_hierarchy.ts";
import { texts } from "../texts.ts";

interface PickerProperties {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly current?: string | undefined;
  readonly onPick: (urn: string) => void;
  /** The option for no domain, if offered. */
  readonly none?: { readonly label: string; readonly onPick: () => void } | undefined;
  /** Whether a domain can be picked; all can by default. */
  readonly canPick?: ((node: DomainNode) => boolean) | undefined;
  /** A domain to leave out, with its subnode. */
  readonly excluded?: string | undefined;
}

/** A dialog to pick a domain from the node. Typing filters; the arrow keys and Enter pick. */
export function DomainPicker(properties: PickerProperties) {
  return (
    <Dialog title={properties.title} isOpen={properties.isOpen} onClose={properties.onClose}>
      <PickerBody {...properties} />
    </Dialog>
  );
}

function PickerBody({ current, onPick, none, canPick, excluded }: PickerProperties) {
  const domains = useDomainHierarchy();
  const { hierarchy } = domains;
  const [text, setText] = useState("");
  // `null` until the user moves: then the current domain is active.
  const [active, setActive] = useState<number | null>(null);
  if (hierarchy === undefined) return <LoadingOrError read={domains} />;
  const visible = visibleNodes(hierarchy, text, excluded);
  const needle = text.trim().toLocaleLowerCase();
  const pickable = visible.filter(
    (node) =>
      (needle === "" || node.name.toLocaleLowerCase().includes(needle)) &&
      (canPick?.(node) ?? true),
  );
  const index =
    active ??
    Math.max(
      0,
      pickable.findIndex((node) => node.urn === current),
    );
  const activeNode = pickable[Math.min(index, pickable.length - 1)];
  const isPickable = new Set(pickable);
  return (
    <div className="picker">
      <StaleNotice read={domains} />
      <input
        type="search"
        role="combobox"
        aria-label={texts.domainPicker.filter}
        aria-expanded="true"
        aria-controls="picker-list"
        aria-activedescendant={activeNode === undefined ? undefined : `pick-${activeNode.urn}`}
        placeholder={texts.domainPicker.filter}
        value={text}
        ref={focusOnMount}
        onChange={(event) => {
          setText(event.target.value);
          setActive(event.target.value.trim() === "" ? null : 0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            event.preventDefault();
            const step = event.key === "ArrowDown" ? 1 : -1;
            setActive(Math.max(0, Math.min(pickable.length - 1, index + step)));
          } else if (event.key === "Enter" && activeNode !== undefined) {
            event.preventDefault();
            onPick(activeNode.urn);
          }
        }}
      />
      <ul
        id="picker-list"
        role="listbox"
        aria-label={texts.domainPicker.title}
        className="picker-list"
      >
        {visible.map((node) => (
          <li
            key={node.urn}
            id={`pick-${node.urn}`}
            ref={node === activeNode ? scrollToOption : undefined}
            role="option"
            aria-selected={node === activeNode}
            aria-disabled={canPick?.(node) === false ? true : undefined}
            className="picker-option"
            style={{ paddingInlineStart: `${0.6 + node.depth * 1.2}rem` }}
            onClick={() => (canPick?.(node) ?? true) && onPick(node.urn)}
          >
            <span className={isPickable.has(node) ? "" : "hint"}>{node.name}</span>
            {node.urn === current && <span className="hint">{texts.domainPicker.current}</span>}
          </li>
        ))}
      </ul>
      {visible.length === 0 && <p className="hint">{emptyMessage(hierarchy, text, excluded)}</p>}
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

function scrollToOption(option: HTMLElement | null): void {
  option?.scrollIntoView({ block: "nearest" });
}

/** Explains an empty list. */
function emptyMessage(
  hierarchy: DomainHierarchy,
  text: string,
  excluded: string | undefined,
): string {
  if (text.trim() === "") return texts.domainPicker.empty;
  const moved = hierarchy.byUrn.get(excluded ?? "");
  const isInside = moved !== undefined && matchingDomains(hierarchy, text).size > 0;
  return isInside ? texts.domainPicker.insideItself(moved.name) : texts.domainPicker.none(text);
}

/** The nodes to list, from the root down: all, or the matches and their ancestors. */
function visibleNodes(
  hierarchy: DomainHierarchy,
  text: string,
  excluded: string | undefined,
): DomainNode[] {
  const matches = text.trim() === "" ? null : matchingDomains(hierarchy, text, excluded);
  const visible: DomainNode[] = [];
  const visit = (nodes: readonly DomainNode[]) => {
    for (const node of nodes) {
      if (node.urn === excluded || (matches !== null && !matches.has(node.urn))) continue;
      visible.push(node);
      visit(node.children);
    }
  };
  visit(hierarchy.roots);
  return visible;
}
