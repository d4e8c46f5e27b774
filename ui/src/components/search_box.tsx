import { useEffect, useId, useRef, useState } from "react";
import { useLocation, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { Icon } from "../icons/icon.tsx";
import { SuggestDocument, type SuggestQuery } from "../generated/operations.ts";
import { contextOf, nameOf } from "../names.ts";
import { texts } from "../texts.ts";
import { isHandledElsewhere, isShortcutKey } from "./shortcuts.ts";

const DEBOUNCE_MS = 80;

interface Suggestion {
  readonly address: string;
  readonly label: string;
  readonly detail: string;
}

interface SuggestionGroup {
  readonly title: string;
  readonly suggestions: readonly Suggestion[];
}

/** The search box: suggests entities by type and runs searches. */
export function SearchBox({ isLarge = false }: { readonly isLarge?: boolean }) {
  const [location, navigate] = useLocation();
  const query = new URLSearchParams(useSearch()).get("query") ?? "";
  // Other pages use the `query` parameter for their own filters.
  const searched = location === addresses.search("") ? query : "";
  const [text, setText] = useState(searched);
  const [isOpen, setOpen] = useState(false);
  // Identified by address, because a newer list may have it at another index or not at all.
  const [selected, setSelected] = useState<string | null>(null);
  const input = useRef<HTMLInputElement>(null);
  // The page focused it on load, and the user has not interacted with it yet.
  const [isUntouched, setUntouched] = useState(isLarge);
  const id = useId();

  useEffect(() => setText(searched), [searched]);
  useSearchShortcut(input, () => setUntouched(false));
  useEffect(() => {
    if (isLarge) input.current?.focus();
  }, [isLarge]);

  const groups = useSuggestions(text, isOpen);
  const suggestions = groups.flatMap((group) => group.suggestions);
  const isShown = isOpen && suggestions.length > 0;
  const active = isShown
    ? suggestions.findIndex((suggestion) => suggestion.address === selected)
    : -1;

  const close = () => {
    setOpen(false);
    setSelected(null);
  };
  const go = (address: string) => {
    close();
    input.current?.blur();
    navigate(address);
  };
  const move = (step: number) => {
    setOpen(true);
    // Cycles through the suggestions and the text field itself, which is -1.
    const next = ((active + 1 + step + suggestions.length + 1) % (suggestions.length + 1)) - 1;
    setSelected(suggestions[next]?.address ?? null);
  };

  return (
    <form
      role="search"
      className={isLarge ? "search-box search-box-large" : "search-box"}
      onSubmit={(event) => {
        event.preventDefault();
        go(suggestions[active]?.address ?? addresses.search(text.trim()));
      }}
    >
      <Icon name="search" />
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
        data-untouched={isUntouched && text === "" ? "" : undefined}
        onPointerDown={() => setUntouched(false)}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setOpen(true);
          setSelected(null);
          setUntouched(false);
        }}
        onFocus={(event) => event.target.select()}
        onBlur={(event) => {
          close();
          // Returning from a dialog is not an interaction with the field.
          if (event.relatedTarget?.closest("[role=dialog]") === null) setUntouched(false);
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
      <kbd className="search-shortcut" aria-hidden="true">
        /
      </kbd>
      {isShown && <Suggestions id={id} groups={groups} active={active} onSelect={go} />}
    </form>
  );
}

interface SuggestionsProperties {
  readonly id: string;
  readonly groups: readonly SuggestionGroup[];
  readonly active: number;
  readonly onSelect: (address: string) => void;
}

function Suggestions({ id, groups, active, onSelect }: SuggestionsProperties) {
  let index = -1;
  return (
    <div
      className="suggestions"
      role="listbox"
      id={`${id}-list`}
      aria-label={texts.search.suggestions}
    >
      {groups.map((group) => (
        <div role="group" key={group.title} aria-label={group.title}>
          <div className="suggestions-title" aria-hidden="true">
            {group.title}
          </div>
          {group.suggestions.map((suggestion) => {
            index += 1;
            return (
              <div
                key={suggestion.address}
                id={`${id}-${index}`}
                role="option"
                aria-selected={index === active}
                className="suggestion"
                // Keep the focus in the field until the click is handled.
                onMouseDown={(event) => event.preventDefault()}
                onClick={() => onSelect(suggestion.address)}
              >
                <span dir="auto" className="suggestion-name">
                  {suggestion.label}
                </span>
                <span className="suggestion-detail">{suggestion.detail}</span>
              </div>
            );
          })}
        </div>
      ))}
    </div>
  );
}

/** Suggestions for the text, debounced. */
function useSuggestions(text: string, isOpen: boolean): readonly SuggestionGroup[] {
  const [debounced, setDebounced] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(text.trim()), DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const found = useApiQuery(
    SuggestDocument,
    { query: debounced },
    { enabled: isOpen && debounced !== "", keepPrevious: true },
  );
  if (debounced === "" || text.trim() === "") return [];
  const search = {
    address: addresses.search(text.trim()),
    label: texts.search.all(text.trim()),
    detail: "",
  };
  return [
    ...(found.data === undefined ? [] : groupsOf(found.data)),
    { title: texts.search.submit, suggestions: [search] },
  ];
}

function groupsOf(found: SuggestQuery): SuggestionGroup[] {
  return (found.autoCompleteForMultiple?.suggestions ?? []).map((suggestion) => ({
    title: texts.entityTypes[suggestion.type]?.many ?? suggestion.type,
    suggestions: suggestion.entities.map((entity) => ({
      address: addresses.entity(entity.urn),
      label: nameOf(entity),
      detail: contextOf(entity),
    })),
  }));
}

/** `/` and Ctrl+K focus the search box from anywhere. */
function useSearchShortcut(
  input: React.RefObject<HTMLInputElement | null>,
  onFocus: () => void,
): void {
  const current = useRef(onFocus);
  current.current = onFocus;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isSlash = event.key === "/" && isShortcutKey(event);
      const isK = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey);
      // Also when already focused, to keep the browser's own search from opening.
      const isAlreadyFocused = event.target === input.current;
      if (isSlash || (isK && (isAlreadyFocused || !isHandledElsewhere(event)))) {
        event.preventDefault();
        input.current?.focus();
        current.current();
      }
    };
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, [input]);
}
