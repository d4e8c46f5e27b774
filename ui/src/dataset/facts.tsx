import { Fragment, useState, type ReactNode } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useChange } from "../api/cache.ts";
import { CopyButton, EntityLink } from "../components/small.tsx";
import { Problem } from "../components/states.tsx";
import { DomainPicker } from "../domains/picker.tsx";
import { SetDomainDocument, UnsetDomainDocument, type DatasetQuery } from "../generated/operations.ts";
import { chainOf, nameOf } from "../names.ts";
import { texts } from "../texts.ts";

type Dataset = NonNullable<DatasetQuery["dataset"]>;

/** What is known about a dataset beside words, as a list that can be taken in at a glance. */
export function Facts({ dataset }: { readonly dataset: Dataset }) {
  const owners = dataset.ownership?.owners ?? [];
  const tags = dataset.tags?.tags ?? [];
  const terms = dataset.glossaryTerms?.terms ?? [];
  const properties = dataset.properties?.customProperties ?? [];
  return (
    <>
      <dl className="facts" aria-label={texts.dataset.facts}>
        <Fact name={texts.dataset.domain}>
          <DomainFact dataset={dataset} />
        </Fact>
        <Fact name={texts.dataset.owners}>
          {owners.length === 0 ? <span className="hint">{texts.dataset.noOwners}</span> : null}
          {owners.map(({ owner }, place) => (
            <Fragment key={owner.urn}>
              {place > 0 && ", "}
              <EntityLink entity={owner} />
            </Fragment>
          ))}
        </Fact>
        {tags.length > 0 && (
          <Fact name={texts.dataset.tags}>
            {tags.map(({ tag }) => (
              <EntityLink key={tag.urn} entity={tag} className="chip" />
            ))}
          </Fact>
        )}
        {terms.length > 0 && (
          <Fact name={texts.dataset.terms}>
            {terms.map(({ term }) => (
              <EntityLink key={term.urn} entity={term} className="chip" />
            ))}
          </Fact>
        )}
        <Fact name={texts.dataset.identifier}>
          <code className="urn">{dataset.urn}</code>{" "}
          <CopyButton text={dataset.urn} label={texts.dataset.copyIdentifier} />
        </Fact>
      </dl>
      {properties.length > 0 && (
        <details className="properties">
          <summary>{texts.dataset.properties(properties.length)}</summary>
          <dl className="facts">
            {properties.map((property) => (
              <Fact key={property.key} name={property.key}>
                {property.value}
              </Fact>
            ))}
          </dl>
        </details>
      )}
    </>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function DomainFact({ dataset }: { readonly dataset: Dataset }) {
  const [isPicking, setPicking] = useState(false);
  const set = useChange(SetDomainDocument);
  const unset = useChange(UnsetDomainDocument);
  const error = set.error ?? unset.error;
  const domain = dataset.domain?.domain;
  const above = chainOf(domain?.parentDomains?.domains);
  const begin = () => {
    setPicking(false);
    // What went wrong before is over when something else is tried.
    set.reset();
    unset.reset();
  };
  const pick = (urn: string) => {
    begin();
    if (urn !== domain?.urn) set.mutate({ urn: dataset.urn, domain: urn });
  };
  const remove = () => {
    begin();
    unset.mutate({ urn: dataset.urn });
  };
  return (
    <>
      {domain === undefined ? (
        <span className="hint">{texts.dataset.noDomain}</span>
      ) : (
        <Link
          href={addresses.domain(domain.urn)}
          className="chip"
          title={above === "" ? undefined : `${above} › ${nameOf(domain)}`}
        >
          {nameOf(domain)}
        </Link>
      )}{" "}
      {dataset.privileges?.canEditDomains === true && (
        <button
          type="button"
          className="quiet"
          aria-label={domain === undefined ? texts.domainPicker.set : texts.domainPicker.change}
          onClick={() => setPicking(true)}
        >
          {domain === undefined ? texts.domainPicker.setShort : texts.description.edit}
        </button>
      )}
      {error !== null && <Problem error={error} />}
      <DomainPicker
        title={texts.domainPicker.title}
        isOpen={isPicking}
        onClose={() => setPicking(false)}
        current={domain?.urn}
        onPick={pick}
        none={domain === undefined ? undefined : { label: texts.domainPicker.remove, onPick: remove }}
      />
    </>
  );
}
