import { useRef, useState } from "react";

import { useApiMutation, useApiQuery, useMe } from "../api/cache.ts";
import { Dialog } from "../components/dialog.tsx";
import { useFocusFallback } from "../components/focus.ts";
import { OptionPicker } from "../components/option_picker.tsx";
import { SectionHeader } from "../components/sections.tsx";
import { ErrorMessage, LoadingOrError, StaleNotice } from "../components/states.tsx";
import {
  ActorsDocument,
  AddDomainStewardDocument,
  RemoveDomainStewardDocument,
  type DomainQuery,
  type SearchSortInput,
} from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { texts } from "../texts.ts";

type Domain = NonNullable<DomainQuery["domain"]>;
type Steward = NonNullable<Domain["stewards"]>[number];

/** How the last change of the user ended. */
interface Changed {
  readonly steward: Steward;
  readonly isRemoved: boolean;
}

/** The other entities of the schema have no fields in the query. */
const isActor = (entity: object): entity is Steward => "urn" in entity;

const isGroup = (urn: string) => urn.startsWith("urn:li:corpGroup:");

/** The users and groups that may edit everything in a domain, to change for administrators. */
export function Stewards({ domain }: { readonly domain: Domain }) {
  const canManage = useMe().data?.me?.platformPrivileges.managePolicies === true;
  const [isAdding, setAdding] = useState(false);
  const [last, setLast] = useState<Changed | null>(null);
  const section = useRef<HTMLElement>(null);
  const add = useApiMutation(AddDomainStewardDocument);
  const remove = useApiMutation(RemoveDomainStewardDocument);
  useFocusFallback(section, () => section.current?.querySelector("button"));
  const words = texts.stewards;
  const stewards = domain.stewards ?? [];
  if (!canManage && stewards.length === 0) return null;

  const change = (steward: Steward, isRemoved: boolean) => {
    setLast(null);
    add.reset();
    remove.reset();
    const mutation = isRemoved ? remove : add;
    mutation.mutate(
      { domain: domain.urn, actor: steward.urn },
      {
        onSuccess: () => {
          setAdding(false);
          setLast({ steward, isRemoved });
        },
      },
    );
  };
  const error = add.error ?? remove.error;
  const isBusy = add.isPending || remove.isPending;
  return (
    <section className="section" aria-labelledby="stewards" ref={section}>
      <SectionHeader title={words.heading} id="stewards">
        {canManage && (
          <button
            type="button"
            className="subtle"
            onClick={() => {
              add.reset();
              setAdding(true);
            }}
          >
            {words.add}
          </button>
        )}
      </SectionHeader>
      <p className="hint">{words.intro}</p>
      {stewards.length === 0 && <p className="hint">{words.none}</p>}
      <ul className="row-list narrow">
        {stewards.map((steward) => (
          <li key={steward.urn}>
            <span>
              {nameOf(steward)}
              {isGroup(steward.urn) && <span className="hint"> · {words.group}</span>}
            </span>
            {canManage && (
              <button
                type="button"
                className="subtle"
                disabled={isBusy}
                aria-label={words.removeLabel(nameOf(steward))}
                onClick={() => change(steward, true)}
              >
                {words.remove}
              </button>
            )}
          </li>
        ))}
      </ul>
      <div role="status">
        {last !== null && (
          <p className="hint">
            {(last.isRemoved ? words.removed : words.added)(nameOf(last.steward))}{" "}
            <button
              type="button"
              className="subtle"
              disabled={isBusy}
              onClick={() => change(last.steward, !last.isRemoved)}
            >
              {words.undo}
            </button>
          </p>
        )}
      </div>
      {!isAdding && error !== null && <ErrorMessage error={error} />}
      {isAdding && (
        <Dialog title={words.addTitle(nameOf(domain))} isOpen onClose={() => setAdding(false)}>
          <StewardPicker
            stewards={stewards}
            error={add.error}
            onPick={(steward) => !isBusy && change(steward, false)}
          />
        </Dialog>
      )}
    </section>
  );
}

const MAX_OPTIONS = 20;
const BY_NAME: SearchSortInput = {
  sortCriteria: [{ field: "_entityName", sortOrder: "ASCENDING" }],
};

interface StewardPickerProperties {
  readonly stewards: readonly Steward[];
  readonly error: Error | null;
  readonly onPick: (steward: Steward) => void;
}

function StewardPicker({ stewards, error, onPick }: StewardPickerProperties) {
  const [text, setText] = useState("");
  const query = text.trim();
  const read = useApiQuery(
    ActorsDocument,
    query === ""
      ? { query: "*", count: MAX_OPTIONS, sort: BY_NAME }
      : { query, count: MAX_OPTIONS, sort: null },
    { keepPrevious: true },
  );
  const words = texts.stewards;
  const results = read.data?.searchAcrossEntities?.searchResults ?? [];
  const found = results.map(({ entity }) => entity).filter(isActor);
  const isSteward = (urn: string) => stewards.some((steward) => steward.urn === urn);
  const options = found.map((actor) => ({
    id: actor.urn,
    label: nameOf(actor),
    hint: isSteward(actor.urn) ? words.isSteward : isGroup(actor.urn) ? words.group : undefined,
    // Enter must not pick from the results of an earlier text.
    isDisabled: isSteward(actor.urn) || read.isPlaceholderData,
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
          const actor = found.find((candidate) => candidate.urn === urn);
          if (actor !== undefined) onPick(actor);
        }}
      />
      {read.data === undefined && <LoadingOrError read={read} lines={2} />}
      {read.data !== undefined && found.length === 0 && (
        <p className="hint">{words.noMatch(query)}</p>
      )}
      {error !== null && <ErrorMessage error={error} />}
    </div>
  );
}
