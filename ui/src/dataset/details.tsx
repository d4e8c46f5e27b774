import { Fragment, useState, type ReactNode } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiMutation } from "../api/cache.ts";
import { CopyButton, EntityLink } from "../components/common.tsx";
import { ErrorMessage } from "../components/states.tsx";
import { DomainPicker } from "../domains/picker.tsx";
import {
  SetDomainDocument,
  UnsetDomainDocument,
  type DatasetQuery,
} from "../generated/operations.ts";
import { parentPath, nameOf } from "../names.ts";
import { canChange } from "../privileges.ts";
import { texts } from "../texts.ts";

type Dataset = NonNullable<DatasetQuery["dataset"]>;

/** Domain, owners, tags and other structured metadata of a dataset. */
export function DatasetDetails({ dataset }: { readonly dataset: Dataset }) {
  const owners = dataset.ownership?.owners ?? [];
  const tags = dataset.tags?.tags ?? [];
  const terms = dataset.glossaryTerms?.terms ?? [];
  const properties = dataset.properties?.customProperties ?? [];
  return (
    <>
      <dl className="detail-list" aria-label={texts.dataset.details}>
        <Detail name={texts.dataset.domain}>
          <DomainDetail dataset={dataset} />
        </Detail>
        <Detail name={texts.dataset.owners}>
          {owners.length === 0 ? <span className="hint">{texts.dataset.noOwners}</span> : null}
          {owners.map(({ owner }, index) => (
            <Fragment key={owner.urn}>
              {index > 0 && ", "}
              <EntityLink entity={owner} />
            </Fragment>
          ))}
        </Detail>
        {tags.length > 0 && (
          <Detail name={texts.dataset.tags}>
            {tags.map(({ tag }) => (
              <EntityLink key={tag.urn} entity={tag} className="chip" />
            ))}
          </Detail>
        )}
        {terms.length > 0 && (
          <Detail name={texts.dataset.terms}>
            {terms.map(({ term }) => (
              <EntityLink key={term.urn} entity={term} className="chip" />
            ))}
          </Detail>
        )}
        <Detail name={texts.dataset.urn}>
          <code className="urn">{dataset.urn}</code>{" "}
          <CopyButton text={dataset.urn} label={texts.dataset.copyUrn} />
        </Detail>
      </dl>
      {properties.length > 0 && (
        <details className="properties">
          <summary>{texts.dataset.properties(properties.length)}</summary>
          <dl className="detail-list">
            {properties.map((property) => (
              <Detail key={property.key} name={property.key}>
                {property.value}
              </Detail>
            ))}
          </dl>
        </details>
      )}
    </>
  );
}

function Detail({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function DomainDetail({ dataset }: { readonly dataset: Dataset }) {
  const [isPicking, setPicking] = useState(false);
  const set = useApiMutation(SetDomainDocument);
  const unset = useApiMutation(UnsetDomainDocument);
  const error = set.error ?? unset.error;
  const domain = dataset.domain?.domain;
  const parents = parentPath(domain?.parentDomains?.domains);
  const closePicker = () => {
    setPicking(false);
    // Clear the error of the previous attempt.
    set.reset();
    unset.reset();
  };
  const pick = (urn: string) => {
    closePicker();
    if (urn !== domain?.urn) set.mutate({ urn: dataset.urn, domain: urn });
  };
  const remove = () => {
    closePicker();
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
          title={parents === "" ? undefined : `${parents} › ${nameOf(domain)}`}
        >
          {nameOf(domain)}
        </Link>
      )}{" "}
      {canChange(dataset.privileges, "canEditDomains") && (
        <button
          type="button"
          className="subtle"
          aria-label={domain === undefined ? texts.domainPicker.set : texts.domainPicker.edit}
          onClick={() => setPicking(true)}
        >
          {domain === undefined ? texts.domainPicker.setShort : texts.description.edit}
        </button>
      )}
      {error !== null && <ErrorMessage error={error} />}
      <DomainPicker
        title={texts.domainPicker.title}
        isOpen={isPicking}
        onClose={() => setPicking(false)}
        current={domain?.urn}
        onPick={pick}
        none={
          domain === undefined ? undefined : { label: texts.domainPicker.remove, onPick: remove }
        }
      />
    </>
  );
}
