import { useState } from "react";

import { useApiQuery } from "../api/cache.ts";
import { sameName } from "../entity/by_name.ts";
import {
  CandidatesDocument,
  type CandidatesQuery,
  type EntityType,
  type SearchSortInput,
} from "../generated/operations.ts";
import { Icon } from "../icons/icon.tsx";
import { contextOf, nameOf, urnId } from "../names.ts";
import { OptionPicker } from "./option_picker.tsx";
import { ErrorMessage, LoadingOrError, StaleNotice } from "./states.tsx";

type Results = NonNullable<CandidatesQuery["searchAcrossEntities"]>["searchResults"];
export type Candidate = Results[number]["entity"];

interface EntityPickerProperties {
  readonly types: EntityType[];
  readonly words: {
    readonly filter: string;
    readonly list: string;
    /** Marks what cannot be picked again. */
    readonly chosen: string;
    readonly noMatch: (query: string) => string;
  };
  /** What is chosen already. */
  readonly chosen: ReadonlySet<string>;
  readonly hintOf?: (entity: Candidate) => string | undefined;
  readonly error: Error | null;
  readonly onPick: (entity: Candidate) => void;
  /** Creates what does not exist, if the user may. */
  readonly creation?:
    | { readonly label: (name: string) => string; readonly onCreate: (name: string) => void }
    | undefined;
}

const MAX_OPTIONS = 20;
const BY_NAME: SearchSortInput = {
  sortCriteria: [{ field: "_entityName", sortOrder: "ASCENDING" }],
};

/** Tells whether an entity has the name of another one that nothing else distinguishes. */
function sharedNames(entities: readonly Candidate[]): (entity: Candidate) => boolean {
  const nameWithContext = (entity: Candidate) => `${nameOf(entity)}\n${contextOf(entity)}`;
  const names = entities.map(nameWithContext);
  const shared = new Set(names.filter((name, index) => names.indexOf(name) !== index));
  return (entity) => shared.has(nameWithContext(entity));
}

/** Finds an entity by typing, such as a tag or a person. */
export function EntityPicker({
  types,
  words,
  chosen,
  hintOf,
  error,
  onPick,
  creation,
}: EntityPickerProperties) {
  const [text, setText] = useState("");
  const query = text.trim();
  const read = useApiQuery(
    CandidatesDocument,
    query === ""
      ? { types, query: "*", count: MAX_OPTIONS, sort: BY_NAME }
      : { types, query, count: MAX_OPTIONS, sort: null },
    { keepPrevious: true },
  );
  const results = read.data?.searchAcrossEntities?.searchResults ?? [];
  const found = results.map(({ entity }) => entity);
  const isNew =
    query !== "" &&
    read.data !== undefined &&
    !read.isPlaceholderData &&
    !found.some((entity) => sameName(nameOf(entity), query));
  const isAmbiguous = sharedNames(found);
  const options = found.map((entity) => ({
    id: entity.urn,
    label: nameOf(entity),
    hint: chosen.has(entity.urn)
      ? words.chosen
      : [(hintOf ?? contextOf)(entity), isAmbiguous(entity) && urnId(entity.urn)]
          .filter(Boolean)
          .join(" · "),
    // Enter must not pick from the results of an earlier text.
    isDisabled: chosen.has(entity.urn) || read.isPlaceholderData,
  }));
  return (
    <div className="picker">
      <StaleNotice read={read} />
      <OptionPicker
        filterLabel={words.filter}
        listLabel={words.list}
        text={text}
        onText={setText}
        options={options}
        onPick={(urn) => {
          const entity = found.find((candidate) => candidate.urn === urn);
          if (entity !== undefined) onPick(entity);
        }}
      />
      {read.data === undefined && <LoadingOrError read={read} lines={2} />}
      {read.data !== undefined && found.length === 0 && (
        <p className="hint">{words.noMatch(query)}</p>
      )}
      {creation !== undefined && isNew && (
        <button type="button" onClick={() => creation.onCreate(query)}>
          <Icon name="add" />
          <span dir="auto">{creation.label(query)}</span>
        </button>
      )}
      {error !== null && <ErrorMessage error={error} />}
    </div>
  );
}
