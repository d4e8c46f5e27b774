import { useState } from "react";
import { Link } from "wouter";

import { AdminTable, Select } from "../admin/common.tsx";
import * as addresses from "../addresses.ts";
import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { EntityLink } from "../components/common.tsx";
import { EmptyState, ErrorMessage, LoadingOrError, StaleNotice } from "../components/states.tsx";
import { formTexts } from "../form_texts.ts";
import {
  FormAssetsDocument,
  RemoveFormDocument,
  type AndFilterInput,
  type FormAssetsQuery,
  type ManagedFormFragment,
} from "../generated/operations.ts";
import { contextOf, nameOf } from "../names.ts";
import { texts } from "../texts.ts";
import { FormBadge } from "./asset_forms.tsx";
import { STATE_FIELDS, answeredOf, countsOf, formsOf, type FormState } from "./form.ts";

const words = formTexts.assets;
const PAGE_SIZE = 25;

type Entity = NonNullable<
  FormAssetsQuery["searchAcrossEntities"]
>["searchResults"][number]["entity"];

/** The datasets that have a form, with the state of each. */
export function FormAssets({
  form,
  counts,
  onDone,
}: {
  readonly form: ManagedFormFragment;
  readonly counts: ReturnType<typeof countsOf>;
  readonly onDone: (text: string | null) => void;
}) {
  const [state, setState] = useState<FormState | "">("");
  const [shown, setShown] = useState(PAGE_SIZE);
  const remove = useApiMutation(RemoveFormDocument);
  const read = useApiQuery(
    FormAssetsDocument,
    { or: conditionsOf(form.urn, state), start: 0, count: shown },
    { keepPrevious: true },
  );
  const found = read.data?.searchAcrossEntities;
  const options: Readonly<Record<string, string>> = {
    "": `${words.all} (${texts.number(counts.assigned)})`,
    ...Object.fromEntries(
      Object.entries(formTexts.states)
        .filter(([name]) => name !== "verified" || form.info.type === "VERIFICATION")
        .map(([name, label]) => [name, `${label} (${texts.number(counts[name as FormState])})`]),
    ),
  };
  return (
    <section aria-labelledby="form-assets">
      <div className="section-header">
        <h3 id="form-assets">{words.heading}</h3>
        <Select
          label={words.filter}
          options={options}
          value={state}
          onChange={(name) => setState(name as FormState | "")}
        />
      </div>
      {read.data === undefined && <LoadingOrError read={read} />}
      <StaleNotice read={read} />
      {remove.error !== null && <ErrorMessage error={remove.error} />}
      {found?.total === 0 &&
        (state === "" ? (
          <EmptyState title={words.none} hint={words.noneHint} />
        ) : (
          <p className="hint">{words.noneOfState}</p>
        ))}
      {found != null && found.searchResults.length > 0 && (
        <AdminTable columns={words.columns}>
          {found.searchResults.map(({ entity }) => (
            <Row
              key={entity.urn}
              entity={entity}
              form={form}
              isBusy={remove.isPending}
              onRemove={() => {
                onDone(null);
                remove.mutate(
                  { form: form.urn, entities: [entity.urn] },
                  { onSuccess: () => onDone(words.removed(nameOf(entity))) },
                );
              }}
            />
          ))}
        </AdminTable>
      )}
      {found != null && found.total > found.searchResults.length && (
        <button type="button" onClick={() => setShown(shown + PAGE_SIZE)}>
          {words.more}
        </button>
      )}
    </section>
  );
}

/** The datasets with a form in a state, or in any. */
function conditionsOf(form: string, state: FormState | ""): AndFilterInput[] {
  const has = (field: string) => ({ and: [{ field, values: [form] }] });
  return state === ""
    ? [has(STATE_FIELDS.incomplete), has(STATE_FIELDS.complete)]
    : [has(STATE_FIELDS[state])];
}

function Row({
  entity,
  form,
  isBusy,
  onRemove,
}: {
  readonly entity: Entity;
  readonly form: ManagedFormFragment;
  readonly isBusy: boolean;
  readonly onRemove: () => void;
}) {
  const name = nameOf(entity);
  if (!("forms" in entity)) return null;
  const mine = formsOf(entity.forms).find(({ association }) => association.form.urn === form.urn);
  const owners = entity.ownership?.owners?.map(({ owner }) => owner) ?? [];
  return (
    <tr>
      <th scope="row">
        <Link dir="auto" href={addresses.datasetTab(entity.urn, "Forms")}>
          {name}
        </Link>
        <span className="hint property-definition">{contextOf(entity)}</span>
      </th>
      <td data-label={words.columns.state}>
        {mine !== undefined && <FormBadge state={mine.state} />}
      </td>
      <td data-label={words.columns.answered}>
        {mine !== undefined &&
          words.answered(answeredOf({ ...mine.association, form }), form.info.prompts.length)}
      </td>
      <td data-label={words.columns.owners}>
        {owners.length === 0 ? (
          <span className="hint">{words.noOwner}</span>
        ) : (
          <ul className="value-list">
            {owners.map((owner) => (
              <li key={owner.urn}>
                <EntityLink entity={owner} />
              </li>
            ))}
          </ul>
        )}
      </td>
      <td className="row-actions">
        <button
          type="button"
          className="subtle"
          disabled={isBusy}
          aria-label={words.removeLabel(name)}
          onClick={onRemove}
        >
          {words.remove}
        </button>
      </td>
    </tr>
  );
}
