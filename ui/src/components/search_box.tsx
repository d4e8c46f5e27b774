import { useEffect, useId, useRef, useState } from "react";
import { useLocation, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useRead } from "../api/cache.ts";
import { SuggestDocument, type SuggestQuery } from "../generated/operations.ts";
import { chainOf, nameOf, type Nameable } from "../names.ts";
import { texts } from "../texts.ts";
import { isForSomethingElse, isSingleKey } from "./keys.ts";

const PAUSE_MS = 80;

interface Choice {
  readonly address: string;
  readonly label: string;
  readonly detail: string;
}

interface Group {
  readonly title: string;
  readonly choices: readonly Choice[];
}

/** The one search box: completes names by kind, and searches for whatever was typed. */
export function SearchBox({ isLarge = false }: { readonly isLarge?: boolean }) {
  const [location, navigate] = useLocation();
  const query = new URLSearchParams(useSearch()).get("query") ?? "";
  // Other pages have addresses with a query of their own.
  const searched = location === addresses.search("") ? query : "";
  const [text, setText] = useState(searched);
  const [isOpen, setOpen] = useState(false);
  // By its address: a list that comes late may have it elsewhere, or no longer.
  const [chosen, setChosen] = useState<string | null>(null);
  const input = useRef<HTMLInputElement>(null);
  // The page itself gave it the focus, and nobody has done anything with it yet.
  const [isUnused, setUnused] = useState(isLarge);
  const id = useId();

  useEffect(() => setText(searched), [searched]);
  useFocusKey(input, () => setUnused(false));
  useEffect(() => {
    if (isLarge) input.current?.focus();
  }, [isLarge]);

  const groups = useSuggestions(text, isOpen);
  const choices = groups.flatMap((group) => group.choices);
  const isShown = isOpen && choices.length > 0;
  const active = isShown ? choices.findIndex((choice) => choice.address === chosen) : -1;

  const close = () => {
    setOpen(false);
    setChosen(null);
  };
  const go = (address: string) => {
    close();
    input.current?.blur();
    navigate(address);
  };
  const move = (step: number) => {
    setOpen(true);
    // One place more than there are choices: the field itself, which is -1.
    const next = ((active + 1 + step + choices.length + 1) % (choices.length + 1)) - 1;
    setChosen(choices[next]?.address ?? null);
  };

  return (
    <form
      role="search"
      className={isLarge ? "search-box search-box-large" : "search-box"}
      onSubmit={(event) => {
        event.preventDefault();
        go(choices[active]?.address ?? addresses.search(text.trim()));
      }}
    >
      <input
        ref={input}
        type="search"
        role="combobox"
        aria-label={texts.search.label}
        aria-expanded={isShown}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={active >= 0 ? `${id}-${active}` : undefined}
        placeholder={texts.search.placeholder}
        autoComplete="off"
        spellCheck={false}
        data-unused={isUnused && text === "" ? "" : undefined}
        onPointerDown={() => setUnused(false)}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setOpen(true);
          setChosen(null);
          setUnused(false);
        }}
        onFocus={(event) => event.target.select()}
        onBlur={(event) => {
          close();
          // A dialog gives the focus back; whoever comes back otherwise wants to type.
          if (event.relatedTarget?.closest("[role=dialog]") === null) setUnused(false);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") {
            event.preventDefault();
            move(1);
          } else if (event.key === "ArrowUp") {
            event.preventDefault();
            move(-1);
          } else if (event.key === "Escape" && isShown) {
            event.preventDefault();
            close();
          } else if (event.key === "Escape") {
            input.current?.blur();
          }
        }}
      />
      <kbd className="search-key" aria-hidden="true">
        /
      </kbd>
      {isShown && <Suggestions id={id} groups={groups} active={active} onChoose={go} />}
    </form>
  );
}

interface SuggestionsProperties {
  readonly id: string;
  readonly groups: readonly Group[];
  readonly active: number;
  readonly onChoose: (address: string) => void;
}

function Suggestions({ id, groups, active, onChoose }: SuggestionsProperties) {
  let place = -1;
  return (
    <div className="suggestions" role="listbox" id={`${id}-list`} aria-label={texts.search.suggestions}>
      {groups.map((group) => (
        <div role="group" key={group.title} aria-label={group.title}>
          <div className="suggestions-title" aria-hidden="true">
            {group.title}
          </div>
          {group.choices.map((choice) => {
            place += 1;
            return (
              <div
                key={choice.address}
                id={`${id}-${place}`}
                role="option"
                aria-selected={place === active}
                className="suggestion"
                // The field must keep the focus until the click has happened.
                onMouseDown={(event) => event.preventDefault()}
                onClick={() => onChoose(choice.address)}
              >
                <span className="suggestion-name">{choice.label}</span>
                <span className="suggestion-detail">{choice.detail}</span>
              </div>
            );
          })}
        </div>
      ))}
    </div>
  );
}

/** Names that begin with what was typed, once the typing pauses. */
function useSuggestions(text: string, isOpen: boolean): readonly Group[] {
  const [paused, setPaused] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text.trim()), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const found = useRead(SuggestDocument, { query: paused }, { enabled: isOpen && paused !== "", keep: true });
  if (paused === "" || text.trim() === "") return [];
  const search = { address: addresses.search(text.trim()), label: texts.search.all(text.trim()), detail: "" };
  return [...(found.data === undefined ? [] : groupsOf(found.data)), { title: texts.search.submit, choices: [search] }];
}

function groupsOf(found: SuggestQuery): Group[] {
  return (found.autoCompleteForMultiple?.suggestions ?? []).map((suggestion) => ({
    title: texts.kinds[suggestion.type]?.many ?? suggestion.type,
    choices: suggestion.entities.map((entity) => ({
      address: addresses.entity(entity.urn),
      label: nameOf(entity),
      detail: detailOf(entity),
    })),
  }));
}

type Suggested = Nameable & {
  readonly platform?: Nameable | null;
  readonly parentDomains?: { readonly domains: readonly Nameable[] } | null;
};

function detailOf(entity: Suggested): string {
  if (entity.platform !== undefined && entity.platform !== null) return nameOf(entity.platform);
  return chainOf(entity.parentDomains?.domains);
}

/** `/` and Ctrl+K lead here from anywhere. */
function useFocusKey(input: React.RefObject<HTMLInputElement | null>, onFocus: () => void): void {
  const focused = useRef(onFocus);
  focused.current = onFocus;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isSlash = event.key === "/" && isSingleKey(event);
      const isK = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey);
      // Whoever is here already must not be led to the browser's own search.
      const isHereAlready = event.target === input.current;
      if (isSlash || (isK && (isHereAlready || !isForSomethingElse(event)))) {
        event.preventDefault();
        input.current?.focus();
        focused.current();
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [input]);
}
