import { useState } from "react";

import type { ChangeFilters } from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { Dialog } from "../components/dialog.tsx";
import { EntityPicker } from "../components/entity_picker.tsx";
import { DomainPicker } from "../domains/picker.tsx";
import { NamesDocument } from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { texts } from "../texts.ts";
import { formatDate } from "../time.ts";
import { isWeek } from "./state.ts";

interface FiltersProperties {
  readonly filters: Required<ChangeFilters>;
  readonly onChange: (changed: ChangeFilters) => void;
}

export function Filters({ filters, onChange }: FiltersProperties) {
  const { period, kind } = filters;
  return (
    <div className="changes-filters" role="group" aria-label={texts.changes.filters}>
      <label>
        <span className="hint">{texts.changes.period}</span>
        <select value={period} onChange={(event) => onChange({ period: event.target.value })}>
          <option value="">{texts.changes.periods.all}</option>
          <option value="week">{texts.changes.periods.week}</option>
          <option value="7">{texts.changes.periods["7"]}</option>
          <option value="30">{texts.changes.periods["30"]}</option>
          {isWeek(period) && (
            <option value={period}>{texts.changes.weekOf(formatDate(Number(period)))}</option>
          )}
        </select>
      </label>
      <label>
        <span className="hint">{texts.changes.kind}</span>
        <select value={kind} onChange={(event) => onChange({ kind: event.target.value })}>
          <option value="">{texts.changes.anyKind}</option>
          {Object.entries(texts.changes.kinds).map(([name, label]) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <PersonFilter filters={filters} onChange={onChange} />
      <DomainFilter filters={filters} onChange={onChange} />
      <label className="changes-people">
        <input
          type="checkbox"
          checked={filters.isPeopleOnly}
          onChange={(event) => onChange({ isPeopleOnly: event.target.checked })}
        />{" "}
        {texts.changes.peopleOnly}
      </label>
    </div>
  );
}

function PersonFilter({ filters, onChange }: FiltersProperties) {
  const [isOpen, setOpen] = useState(false);
  const { person } = filters;
  return (
    <>
      <Chosen
        label={texts.changes.person}
        any={texts.changes.anyone}
        urn={person}
        onOpen={() => setOpen(true)}
        onClear={() => onChange({ person: "" })}
      />
      <Dialog title={texts.changes.pickPerson.title} isOpen={isOpen} onClose={() => setOpen(false)}>
        <EntityPicker
          types={["CORP_USER"]}
          words={texts.changes.pickPerson}
          chosen={new Set(person === "" ? [] : [person])}
          error={null}
          onPick={({ urn }) => {
            setOpen(false);
            onChange({ person: urn });
          }}
        />
      </Dialog>
    </>
  );
}

function DomainFilter({ filters, onChange }: FiltersProperties) {
  const [isOpen, setOpen] = useState(false);
  const { domain } = filters;
  return (
    <>
      <Chosen
        label={texts.changes.domain}
        any={texts.changes.anyDomain}
        urn={domain}
        onOpen={() => setOpen(true)}
        onClear={() => onChange({ domain: "" })}
      />
      <DomainPicker
        title={texts.domainPicker.title}
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        current={domain}
        onPick={(urn) => {
          setOpen(false);
          onChange({ domain: urn });
        }}
      />
    </>
  );
}

interface ChosenProperties {
  readonly label: string;
  readonly any: string;
  /** Empty if nothing is chosen. */
  readonly urn: string;
  readonly onOpen: () => void;
  readonly onClear: () => void;
}

/** A button that shows what a filter is set to, and one that clears it. */
function Chosen({ label, any, urn, onOpen, onClear }: ChosenProperties) {
  const isChosen = urn !== "";
  const names = useApiQuery(NamesDocument, { urns: [urn] }, { enabled: isChosen });
  const name = isChosen ? nameOf(names.data?.entities?.[0] ?? { urn }) : any;
  return (
    <span className="changes-filter">
      <span className="hint" aria-hidden="true">
        {label}
      </span>
      <span className="changes-chosen">
        <button type="button" aria-label={`${label}: ${name}`} onClick={onOpen} dir="auto">
          {name}
        </button>
        {isChosen && (
          <button
            type="button"
            className="subtle"
            aria-label={texts.search.remove(name)}
            onClick={onClear}
          >
            ✕
          </button>
        )}
      </span>
    </span>
  );
}
