import { useState } from "react";
import { useSearch } from "wouter";

import { FilterField } from "../admin/common.tsx";
import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { Pagination, pageFromAddress } from "../components/pagination.tsx";
import { EmptyState, LoadingOrError, StaleNotice } from "../components/states.tsx";
import { TableScroll } from "../components/table_scroll.tsx";
import {
  PropertyDefinitionsDocument,
  type ManagedPropertyFragment,
} from "../generated/operations.ts";
import { propertyTexts as words } from "../property_texts.ts";
import { useRights } from "../rights.ts";
import { texts } from "../texts.ts";
import { optionsOf } from "../trust/property_values.ts";
import { nameOfProperty } from "./definition.ts";
import { PropertyDeletion } from "./deletion.tsx";
import { PropertyForm } from "./form.tsx";

const PAGE_SIZE = 50;
/** How many allowed values a row names. */
const MAX_NAMED_VALUES = 4;

type Open =
  | { readonly action: "create" }
  | { readonly action: "edit" | "remove"; readonly property: ManagedPropertyFragment };

/** The definitions of structured properties. */
export default function PropertyDefinitions() {
  const rights = useRights();
  const canManage = rights.has("MANAGE_STRUCTURED_PROPERTIES");
  const page = pageFromAddress(new URLSearchParams(useSearch()), PAGE_SIZE);
  const [query, setQuery] = useState("");
  const [open, setOpen] = useState<Open | null>(null);
  const [done, setDone] = useState<string | null>(null);
  const typed = query.trim();
  const read = useApiQuery(
    PropertyDefinitionsDocument,
    {
      query: typed === "" ? "*" : typed,
      start: typed === "" ? (page - 1) * PAGE_SIZE : 0,
      count: PAGE_SIZE,
    },
    { keepPrevious: true },
  );
  const found = read.data?.searchAcrossEntities;
  const properties = (found?.searchResults ?? []).flatMap(({ entity }) =>
    "definition" in entity ? [entity] : [],
  );
  const start = (next: Open) => {
    setDone(null);
    setOpen(next);
  };
  const close = () => setOpen(null);
  const finish = (message: string) => {
    close();
    setDone(message);
  };
  return (
    <>
      <p className="hint admin-intro">{words.intro}</p>
      <div className="admin-filters">
        <FilterField label={words.find} value={query} onChange={setQuery} />
        {canManage && (
          <button type="button" className="primary" onClick={() => start({ action: "create" })}>
            {words.create}
          </button>
        )}
      </div>
      {read.data === undefined && <LoadingOrError read={read} />}
      <StaleNotice read={read} />
      <p className="hint" role="status">
        {done}
      </p>
      {found?.total === 0 &&
        (typed === "" ? (
          <EmptyState title={words.none} hint={canManage ? words.noneHint : words.noneForReaders} />
        ) : (
          <p className="hint">{words.noMatch(typed)}</p>
        ))}
      {properties.length > 0 && (
        <TableScroll>
          <table className="data-table stacked definition-table">
            <thead>
              <tr>
                {Object.values(words.columns).map((label) => (
                  <th key={label} scope="col">
                    {label}
                  </th>
                ))}
                {canManage && <td />}
              </tr>
            </thead>
            <tbody>
              {properties.map((property) => (
                <Row
                  key={property.urn}
                  property={property}
                  canManage={canManage}
                  onStart={(action) => start({ action, property })}
                />
              ))}
            </tbody>
          </table>
        </TableScroll>
      )}
      {found != null && typed === "" && (
        <Pagination
          page={page}
          size={PAGE_SIZE}
          total={found.total}
          addressOf={(number) => addresses.settingsWith("properties", {}, number)}
        />
      )}
      {open !== null && open.action !== "remove" && (
        <PropertyForm
          property={open.action === "edit" ? open.property : null}
          onSaved={(name) =>
            finish(open.action === "edit" ? words.saved(name) : words.created(name))
          }
          onClose={close}
        />
      )}
      {open?.action === "remove" && (
        <PropertyDeletion
          property={open.property}
          onDeleted={() => setDone(words.removed(nameOfProperty(open.property)))}
          onClose={close}
        />
      )}
    </>
  );
}

function Row({
  property,
  canManage,
  onStart,
}: {
  readonly property: ManagedPropertyFragment;
  readonly canManage: boolean;
  readonly onStart: (action: "edit" | "remove") => void;
}) {
  const { definition } = property;
  const name = nameOfProperty(property);
  const type = words.types[definition.valueType.info.type];
  const allowed = optionsOf(property).map(({ text }) => text);
  const named = allowed.slice(0, MAX_NAMED_VALUES);
  const more = allowed.length - named.length;
  return (
    <tr>
      <th scope="row">
        <span dir="auto">{name}</span>
        {property.settings?.isHidden === true && <span className="hint"> {words.hidden}</span>}
        <code className="definition-id">{definition.qualifiedName}</code>
        {definition.description != null && (
          <span className="hint property-definition" dir="auto">
            {definition.description}
          </span>
        )}
      </th>
      <td data-label={words.columns.type}>
        {definition.cardinality === "MULTIPLE" ? words.several(type) : type}
      </td>
      <td data-label={words.columns.allowed} dir="auto">
        {named.length === 0 ? <span className="hint">{words.anyValue}</span> : named.join(", ")}
        {more > 0 && ` ${words.moreValues(more)}`}
      </td>
      <td data-label={words.columns.entityTypes}>
        {definition.entityTypes
          .map(({ info }) => texts.entityTypes[info.type]?.many ?? info.type)
          .join(", ")}
      </td>
      {canManage && (
        <td className="row-actions">
          <button type="button" aria-label={words.editLabel(name)} onClick={() => onStart("edit")}>
            {words.edit}
          </button>{" "}
          <button
            type="button"
            className="subtle"
            aria-label={words.removeLabel(name)}
            onClick={() => onStart("remove")}
          >
            {words.remove}
          </button>
        </td>
      )}
    </tr>
  );
}
