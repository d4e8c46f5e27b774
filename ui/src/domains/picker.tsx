import { useState } from "react";

import { Dialog } from "../components/dialog.tsx";
import { OptionPicker } from "../components/option_picker.tsx";
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
  if (hierarchy === undefined) return <LoadingOrError read={domains} />;
  const visible = visibleNodes(hierarchy, text, excluded);
  const needle = text.trim().toLocaleLowerCase();
  const options = visible.map((node) => ({
    id: node.urn,
    label: node.name,
    hint: node.urn === current ? texts.domainPicker.current : undefined,
    depth: node.depth,
    isMatch: needle === "" || node.name.toLocaleLowerCase().includes(needle),
    isDisabled: canPick?.(node) === false,
  }));
  return (
    <div className="picker">
      <StaleNotice read={domains} />
      <OptionPicker
        filterLabel={texts.domainPicker.filter}
        listLabel={texts.domainPicker.title}
        text={text}
        onText={setText}
        options={options}
        current={current}
        onPick={onPick}
      />
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
