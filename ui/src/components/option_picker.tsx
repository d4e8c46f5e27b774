import { useState } from "react";

import { focusOnMount } from "./focus.ts";

export interface Option {
  readonly id: string;
  readonly label: string;
  readonly hint?: string | undefined;
  /** How far it is indented below its parent. */
  readonly depth?: number;
  /** Whether the arrow keys reach it; parents of matches only give context. */
  readonly isMatch?: boolean;
  readonly isDisabled?: boolean;
}

interface PickerProperties {
  readonly filterLabel: string;
  readonly listLabel: string;
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly options: readonly Option[];
  /** The option that is active before the user moves. */
  readonly current?: string | undefined;
  readonly onPick: (id: string) => void;
}

/** A text field with a list of options. The arrow keys and Enter pick. */
export function OptionPicker({
  filterLabel,
  listLabel,
  text,
  onText,
  options,
  current,
  onPick,
}: PickerProperties) {
  // `null` until the user moves: then the current option is active.
  const [active, setActive] = useState<number | null>(null);
  const reachable = options.filter((option) => option.isMatch !== false && !isDisabled(option));
  const index =
    active ??
    Math.max(
      0,
      reachable.findIndex((option) => option.id === current),
    );
  const activeOption = reachable[Math.min(index, reachable.length - 1)];
  const isReachable = new Set(reachable);
  return (
    <>
      <input
        type="search"
        role="combobox"
        aria-label={filterLabel}
        aria-expanded="true"
        aria-controls="picker-list"
        aria-activedescendant={activeOption === undefined ? undefined : `pick-${activeOption.id}`}
        placeholder={filterLabel}
        value={text}
        ref={focusOnMount}
        onChange={(event) => {
          onText(event.target.value);
          setActive(event.target.value.trim() === "" ? null : 0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            event.preventDefault();
            const step = event.key === "ArrowDown" ? 1 : -1;
            setActive(Math.max(0, Math.min(reachable.length - 1, index + step)));
          } else if (event.key === "Enter" && activeOption !== undefined) {
            event.preventDefault();
            onPick(activeOption.id);
          }
        }}
      />
      <ul id="picker-list" role="listbox" aria-label={listLabel} className="picker-list">
        {options.map((option) => (
          <li
            key={option.id}
            id={`pick-${option.id}`}
            ref={option === activeOption ? scrollToOption : undefined}
            role="option"
            aria-selected={option === activeOption}
            aria-disabled={isDisabled(option) ? true : undefined}
            className="picker-option"
            style={{ paddingInlineStart: `${0.6 + (option.depth ?? 0) * 1.2}rem` }}
            onClick={() => !isDisabled(option) && onPick(option.id)}
          >
            <span dir="auto" className={isReachable.has(option) ? "" : "hint"}>
              {option.label}
            </span>
            {option.hint !== undefined && <span className="hint">{option.hint}</span>}
          </li>
        ))}
      </ul>
    </>
  );
}

const isDisabled = (option: Option) => option.isDisabled === true;

function scrollToOption(option: HTMLElement | null): void {
  option?.scrollIntoView({ block: "nearest" });
}
