import { useState } from "react";

import { Dialog } from "../components/dialog.tsx";
import { focusAtFirst } from "../components/focus.ts";
import { Awaited, Outdated } from "../components/states.tsx";
import { matching, useForest, type Forest, type Tree } from "../forest.ts";
import { texts } from "../texts.ts";

interface PickerProperties {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly current?: string | undefined;
  readonly onPick: (urn: string) => void;
  /** Takes it out of its domain, or to the top; not offered when absent. */
  readonly none?: { readonly label: string; readonly onPick: () => void } | undefined;
  /** Whether a domain may be chosen; every one may when absent. */
  readonly mayPick?: ((tree: Tree) => boolean) | undefined;
  /** Domains that cannot be chosen, with everything below them. */
  readonly without?: string | undefined;
}

/** The tree of domains to choose one from. Typing narrows it; the arrows and Enter choose. */
export function DomainPicker(properties: PickerProperties) {
  return (
    <Dialog title={properties.title} isOpen={properties.isOpen} onClose={properties.onClose}>
      <PickerBody {...properties} />
    </Dialog>
  );
}

function PickerBody({ current, onPick, none, mayPick, without }: PickerProperties) {
  const domains = useForest();
  const { forest } = domains;
  const [text, setText] = useState("");
  // Nobody has chosen anything yet: then it is what is so already.
  const [active, setActive] = useState<number | null>(null);
  if (forest === undefined) return <Awaited read={domains} />;
  const shown = linesOf(forest, text, without);
  const wanted = text.trim().toLocaleLowerCase();
  const choosable = shown.filter(
    (tree) => (wanted === "" || tree.name.toLocaleLowerCase().includes(wanted)) && (mayPick?.(tree) ?? true),
  );
  const place =
    active ??
    Math.max(
      0,
      choosable.findIndex((tree) => tree.urn === current),
    );
  const chosen = choosable[Math.min(place, choosable.length - 1)];
  const isChoosable = new Set(choosable);
  return (
    <div className="picker">
      <Outdated read={domains} />
      <input
        type="search"
        role="combobox"
        aria-label={texts.domainPicker.filter}
        aria-expanded="true"
        aria-controls="picker-list"
        aria-activedescendant={chosen === undefined ? undefined : `pick-${chosen.urn}`}
        placeholder={texts.domainPicker.filter}
        value={text}
        ref={focusAtFirst}
        onChange={(event) => {
          setText(event.target.value);
          setActive(event.target.value.trim() === "" ? null : 0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            event.preventDefault();
            const step = event.key === "ArrowDown" ? 1 : -1;
            setActive(Math.max(0, Math.min(choosable.length - 1, place + step)));
          } else if (event.key === "Enter" && chosen !== undefined) {
            event.preventDefault();
            onPick(chosen.urn);
          }
        }}
      />
      <ul id="picker-list" role="listbox" aria-label={texts.domainPicker.title} className="picker-list">
        {shown.map((tree) => (
          <li
            key={tree.urn}
            id={`pick-${tree.urn}`}
            ref={tree === chosen ? bringIntoView : undefined}
            role="option"
            aria-selected={tree === chosen}
            aria-disabled={mayPick?.(tree) === false ? true : undefined}
            className="picker-line"
            style={{ paddingInlineStart: `${0.6 + tree.depth * 1.2}rem` }}
            onClick={() => (mayPick?.(tree) ?? true) && onPick(tree.urn)}
          >
            <span className={isChoosable.has(tree) ? "" : "hint"}>{tree.name}</span>
            {tree.urn === current && <span className="hint">{texts.domainPicker.current}</span>}
          </li>
        ))}
      </ul>
      {shown.length === 0 && <p className="hint">{noneOf(forest, text, without)}</p>}
      {none !== undefined && (
        <div className="dialog-feet">
          <button type="button" onClick={none.onPick}>
            {none.label}
          </button>
        </div>
      )}
    </div>
  );
}

function bringIntoView(line: HTMLElement | null): void {
  line?.scrollIntoView({ block: "nearest" });
}

/** Why there is nothing to choose. */
function noneOf(forest: Forest, text: string, without: string | undefined): string {
  if (text.trim() === "") return texts.domainPicker.empty;
  const moved = forest.byUrn.get(without ?? "");
  const isInside = moved !== undefined && matching(forest, text).size > 0;
  return isInside ? texts.domainPicker.inside(moved.name) : texts.domainPicker.none(text);
}

/** The trees as lines, from the top down, narrowed to what matches and what stands above it. */
function linesOf(forest: Forest, text: string, without: string | undefined): Tree[] {
  const wanted = text.trim() === "" ? null : matching(forest, text, without);
  const lines: Tree[] = [];
  const visit = (trees: readonly Tree[]) => {
    for (const tree of trees) {
      if (tree.urn === without || (wanted !== null && !wanted.has(tree.urn))) continue;
      lines.push(tree);
      visit(tree.children);
    }
  };
  visit(forest.roots);
  return lines;
}
