import { useState } from "react";

import { NamedPicker } from "../admin/named_picker.tsx";
import type { Named } from "../admin/policy.ts";
import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { FormDialog } from "../components/form_dialog.tsx";
import { useUnsaved } from "../components/unsaved.ts";
import { formTexts } from "../form_texts.ts";
import {
  AssignFormByFilterDocument,
  AssignFormDocument,
  FormAssetsDocument,
  type AndFilterInput,
  type ManagedFormFragment,
} from "../generated/operations.ts";

const words = formTexts.assignment;

/** Assigns a form to chosen datasets, or to all that match. */
export function AssignmentDialog({
  form,
  onClose,
  onAssigned,
}: {
  readonly form: ManagedFormFragment;
  readonly onClose: () => void;
  readonly onAssigned: (text: string) => void;
}) {
  const assign = useApiMutation(AssignFormDocument);
  const assignByFilter = useApiMutation(AssignFormByFilterDocument);
  const [isMatching, setMatching] = useState(false);
  const [datasets, setDatasets] = useState<readonly Named[]>([]);
  const [domains, setDomains] = useState<readonly Named[]>([]);
  const [platforms, setPlatforms] = useState<readonly Named[]>([]);
  const [isMissing, setMissing] = useState(false);
  useUnsaved(() => datasets.length + domains.length + platforms.length > 0);
  const or = filterOf(domains, platforms);
  const hasFilter = domains.length + platforms.length > 0;
  const matches = useApiQuery(
    FormAssetsDocument,
    { or, start: 0, count: 0 },
    { enabled: isMatching && hasFilter },
  );
  const total = matches.data?.searchAcrossEntities?.total;
  const finish = (number: number) => {
    onClose();
    onAssigned(words.assigned(number));
  };
  const submit = () => {
    const isEmpty = isMatching ? !hasFilter : datasets.length === 0;
    setMissing(isEmpty);
    if (isEmpty) return;
    if (isMatching)
      assignByFilter.mutate({ form: form.urn, or }, { onSuccess: () => finish(total ?? 0) });
    else
      assign.mutate(
        { form: form.urn, entities: datasets.map(({ urn }) => urn) },
        { onSuccess: () => finish(datasets.length) },
      );
  };
  const chosen =
    <Item,>(set: (items: readonly Item[]) => void) =>
    (items: readonly Item[]) => {
      setMissing(false);
      set(items);
    };
  return (
    <FormDialog
      title={words.title(form.info.name)}
      submit={words.submit}
      isBusy={assign.isPending || assignByFilter.isPending || (isMatching && matches.isFetching)}
      error={assign.error ?? assignByFilter.error}
      onSubmit={submit}
      onClose={onClose}
    >
      <fieldset className="admin-fieldset">
        <legend>{words.which}</legend>
        {[false, true].map((value) => (
          <label key={String(value)} className="choice">
            <input
              type="radio"
              name="which"
              checked={isMatching === value}
              onChange={() => {
                setMissing(false);
                setMatching(value);
              }}
            />
            {value ? words.matching : words.these}
          </label>
        ))}
      </fieldset>
      {isMatching ? (
        <>
          <Choice legend={words.domains} hint={words.domainsHint}>
            <NamedPicker
              button={words.addDomain}
              types={["DOMAIN"]}
              words={formTexts.picker}
              chosen={domains}
              onChange={chosen(setDomains)}
            />
          </Choice>
          <Choice legend={words.platforms} hint={words.platformsHint}>
            <NamedPicker
              button={words.addPlatform}
              types={["DATA_PLATFORM"]}
              words={formTexts.picker}
              chosen={platforms}
              onChange={chosen(setPlatforms)}
            />
          </Choice>
          <p role="status">{hasFilter && total !== undefined && words.matches(total)}</p>
          <p className="hint">{words.matchingHint}</p>
        </>
      ) : (
        <Choice legend={words.datasets}>
          <NamedPicker
            button={words.addDataset}
            types={["DATASET"]}
            words={formTexts.picker}
            chosen={datasets}
            onChange={chosen(setDatasets)}
          />
        </Choice>
      )}
      <span className="field-error" role="alert">
        {isMissing && words.missing}
      </span>
    </FormDialog>
  );
}

function Choice({
  legend,
  hint,
  children,
}: {
  readonly legend: string;
  readonly hint?: string;
  readonly children: React.ReactNode;
}) {
  return (
    <fieldset className="admin-fieldset">
      <legend>{legend}</legend>
      {children}
      {hint !== undefined && <p className="hint">{hint}</p>}
    </fieldset>
  );
}

/** The datasets of the domains with their subdomains, on the platforms. */
function filterOf(domains: readonly Named[], platforms: readonly Named[]): AndFilterInput[] {
  const values = (entities: readonly Named[]) => entities.map(({ urn }) => urn);
  return [
    {
      and: [
        { field: "_entityType", values: ["DATASET"] },
        ...(domains.length === 0
          ? []
          : [
              {
                field: "domains",
                condition: "DESCENDANTS_INCL" as const,
                values: values(domains),
              },
            ]),
        ...(platforms.length === 0 ? [] : [{ field: "platform", values: values(platforms) }]),
      ],
    },
  ];
}
