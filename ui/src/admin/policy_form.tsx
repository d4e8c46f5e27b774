import { useEffect, useState, type FormEvent, type ReactNode } from "react";
import { Link } from "wouter";

import { useApiQuery } from "../api/cache.ts";
import { ErrorMessage, LoadingOrError } from "../components/states.tsx";
import { useUnsaved } from "../components/unsaved.ts";
import { FieldProblem, invalidIf, showInvalid } from "../components/validation.tsx";
import {
  GrantablePrivilegesDocument,
  OwnershipTypesDocument,
  RolesDocument,
  type PolicyType,
} from "../generated/operations.ts";
import { policyTexts } from "../policy_texts.ts";
import { EMPTY_POLICY, type Named, type Policy } from "./policy.ts";
import { ConditionsEditor } from "./policy_conditions.tsx";
import { sentenceOf } from "./policy_sentence.ts";
import { PrivilegeChoices } from "./privilege_choices.tsx";
import { NamedPicker } from "./named_picker.tsx";

interface FormProperties {
  /** The stored policy; `null` for a new one. */
  readonly before: Policy | null;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly backAddress: string;
  readonly onSave: (policy: Policy, onSaved: () => void) => void;
  /** Called when the form has been saved, and has nothing unsaved any more. */
  readonly onDone: () => void;
}

/** Edits a policy, and shows it as a sentence meanwhile. */
export function PolicyForm({ before, isBusy, error, backAddress, onSave, onDone }: FormProperties) {
  const words = policyTexts.form;
  // What the edit started with: others may change the policy meanwhile.
  const [start] = useState<Policy>(before ?? EMPTY_POLICY);
  const [policy, setPolicy] = useState<Policy>(start);
  const [isSaved, setSaved] = useState(false);
  const [problem, setProblem] = useState<PolicyProblem | null>(null);
  useUnsaved(() => !isSaved && JSON.stringify(policy) !== JSON.stringify(start));
  // Leaving would ask about the fields as long as they are there.
  useEffect(() => {
    if (isSaved) onDone();
  }, [isSaved, onDone]);
  if (isSaved) return null;
  const change = (changed: Partial<Policy>) => {
    setProblem(null);
    setPolicy((current) => ({ ...current, ...changed }));
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const found = problemOf(policy);
    showInvalid(event.currentTarget, () => setProblem(found));
    if (found === null) onSave({ ...policy, name: policy.name.trim() }, () => setSaved(true));
  };
  return (
    <form className="form policy-form" onSubmit={submit} noValidate>
      <div className="policy-form-header">
        <Link href={backAddress}>← {words.back}</Link>
        <h3>{before === null ? words.newTitle : words.editTitle(before.name)}</h3>
      </div>
      <aside className="policy-preview" aria-label={words.preview}>
        <p className="hint">{words.preview}</p>
        <p aria-live="polite" dir="auto" data-testid="sentence">
          {sentenceOf(policy)}
        </p>
        <div className="form-actions">
          <button type="submit" className="primary" disabled={isBusy}>
            {before === null ? words.createButton : words.save}
          </button>
          <Link className="button" href={backAddress}>
            {policyTexts.cancel}
          </Link>
        </div>
        {error !== null && <ErrorMessage error={error} />}
      </aside>
      <div className="policy-fields">
        <BasicFields policy={policy} isNew={before === null} problem={problem} onChange={change} />
        <ActorFields policy={policy} onChange={change} />
        <PrivilegeFields policy={policy} problem={problem} onChange={change} />
        {policy.type === "METADATA" && (
          <Fields legend={words.where}>
            <ConditionsEditor
              conditions={policy.conditions}
              problem={problem?.field === "conditions" ? problem.text : undefined}
              onChange={(conditions) => change({ conditions })}
            />
            {policy.constraints !== null && <p className="hint">{words.constraints}</p>}
          </Fields>
        )}
      </div>
    </form>
  );
}

/** What keeps a policy from being stored, and where. */
interface PolicyProblem {
  readonly field: "name" | "privileges" | "conditions";
  readonly text: string;
}

function problemOf(policy: Policy): PolicyProblem | null {
  const words = policyTexts.form;
  if (policy.name.trim() === "") return { field: "name", text: words.nameMissing };
  if (policy.privileges.length === 0) return { field: "privileges", text: words.privilegesMissing };
  if (policy.type === "PLATFORM" || policy.conditions === null) return null;
  if (policy.conditions.length === 0) return { field: "conditions", text: words.noConditions };
  const isEmpty = policy.conditions.some(({ values }) => values.length === 0);
  return isEmpty ? { field: "conditions", text: words.conditionEmpty } : null;
}

function Fields({
  legend,
  isInvalid = false,
  children,
}: {
  readonly legend: string;
  readonly isInvalid?: boolean;
  readonly children: ReactNode;
}) {
  return (
    <fieldset className="admin-fieldset" data-invalid={isInvalid ? "" : undefined}>
      <legend>{legend}</legend>
      {children}
    </fieldset>
  );
}

interface PartProperties {
  readonly policy: Policy;
  readonly onChange: (changed: Partial<Policy>) => void;
}

interface CheckedProperties extends PartProperties {
  readonly problem: PolicyProblem | null;
}

const KINDS: readonly PolicyType[] = ["METADATA", "PLATFORM"];

function BasicFields({
  policy,
  isNew,
  problem,
  onChange,
}: CheckedProperties & { readonly isNew: boolean }) {
  const words = policyTexts.form;
  const nameProblem = problem?.field === "name" ? problem.text : undefined;
  return (
    <>
      <label>
        {words.name}
        <input
          dir="auto"
          maxLength={200}
          defaultValue={policy.name}
          {...invalidIf("policy-name", nameProblem)}
          onChange={(event) => onChange({ name: event.target.value })}
        />
      </label>
      <FieldProblem name="policy-name" text={nameProblem} />
      <label>
        {words.description}
        <textarea
          dir="auto"
          rows={2}
          maxLength={5000}
          defaultValue={policy.description}
          onChange={(event) => onChange({ description: event.target.value })}
        />
      </label>
      {isNew && (
        <Fields legend={words.kind}>
          {KINDS.map((kind) => (
            <label key={kind} className="choice">
              <input
                type="radio"
                name="kind"
                checked={policy.type === kind}
                // The privileges of one kind mean nothing in the other.
                onChange={() => onChange({ type: kind, privileges: [], conditions: null })}
              />
              {words.kinds[kind]}
            </label>
          ))}
        </Fields>
      )}
      <label className="choice">
        <input
          type="checkbox"
          checked={policy.state === "ACTIVE"}
          onChange={(event) => onChange({ state: event.target.checked ? "ACTIVE" : "INACTIVE" })}
        />
        <span>
          {words.active} <span className="hint">{words.activeHint}</span>
        </span>
      </label>
    </>
  );
}

const isGroup = (urn: string) => urn.startsWith("urn:li:corpGroup:");

function ActorFields({ policy, onChange }: PartProperties) {
  const words = policyTexts.form;
  const roles = useApiQuery(RolesDocument, {});
  const types = useApiQuery(OwnershipTypesDocument, {});
  const people = [...policy.groups, ...policy.users];
  return (
    <Fields legend={words.who}>
      <Checkbox
        label={words.allUsers}
        isChecked={policy.allUsers}
        onChange={(allUsers) => onChange({ allUsers })}
      />
      {!policy.allUsers && (
        <>
          <Checkbox
            label={words.allGroups}
            isChecked={policy.allGroups}
            onChange={(allGroups) => onChange({ allGroups })}
          />
          {policy.type === "METADATA" && (
            <Checkbox
              label={words.owners}
              isChecked={policy.owners}
              onChange={(owners) => onChange({ owners })}
            />
          )}
          {policy.type === "METADATA" && policy.owners && (
            <Checkboxes
              legend={words.ownerTypes}
              hint={words.ownerTypesHint}
              options={(types.data?.listOwnershipTypes?.ownershipTypes ?? []).map((type) => ({
                urn: type.urn,
                name: type.info?.name ?? type.urn,
              }))}
              chosen={policy.ownerTypes}
              onChange={(ownerTypes) => onChange({ ownerTypes })}
            />
          )}
          {roles.data === undefined ? (
            <LoadingOrError read={roles} lines={1} />
          ) : (
            <Checkboxes
              legend={words.roles}
              options={roles.data.listRoles?.roles ?? []}
              chosen={policy.roles}
              onChange={(chosen) => onChange({ roles: chosen })}
            />
          )}
          <p className="field-label">{words.people}</p>
          <NamedPicker
            button={words.addActor}
            types={["CORP_USER", "CORP_GROUP"]}
            words={{
              filter: words.actorFilter,
              list: words.actorList,
              chosen: words.chosen,
              noMatch: words.noMatch,
            }}
            hintOf={(urn) => (isGroup(urn) ? words.group : undefined)}
            chosen={people}
            onChange={(chosen) =>
              onChange({
                groups: chosen.filter(({ urn }) => isGroup(urn)),
                users: chosen.filter(({ urn }) => !isGroup(urn)),
              })
            }
          />
        </>
      )}
    </Fields>
  );
}

function PrivilegeFields({ policy, problem, onChange }: CheckedProperties) {
  const isInvalid = problem?.field === "privileges";
  const read = useApiQuery(GrantablePrivilegesDocument, {});
  const config = read.data?.appConfig?.policiesConfig;
  const all = config?.resourcePrivileges.find(({ resourceType }) => resourceType === "all");
  return (
    <Fields legend={policyTexts.form.what} isInvalid={isInvalid}>
      <FieldProblem name="privileges" text={isInvalid ? problem.text : undefined} />
      {config === undefined ? (
        <LoadingOrError read={read} />
      ) : (
        <PrivilegeChoices
          type={policy.type}
          grantable={
            policy.type === "PLATFORM" ? config.platformPrivileges : (all?.privileges ?? [])
          }
          chosen={policy.privileges}
          onChange={(privileges) => onChange({ privileges })}
        />
      )}
    </Fields>
  );
}

function Checkbox({
  label,
  isChecked,
  onChange,
}: {
  readonly label: string;
  readonly isChecked: boolean;
  readonly onChange: (isChecked: boolean) => void;
}) {
  return (
    <label className="choice">
      <input
        type="checkbox"
        checked={isChecked}
        onChange={(event) => onChange(event.target.checked)}
      />
      {label}
    </label>
  );
}

/** Checkboxes for a few entities. Those chosen that no longer exist stay until they are cleared. */
function Checkboxes({
  legend,
  hint,
  options,
  chosen,
  onChange,
}: {
  readonly legend: string;
  readonly hint?: string;
  readonly options: readonly Named[];
  readonly chosen: readonly Named[];
  readonly onChange: (chosen: readonly Named[]) => void;
}) {
  const missing = chosen.filter(({ urn }) => !options.some((option) => option.urn === urn));
  return (
    <div role="group" aria-label={legend}>
      <p className="field-label">{legend}</p>
      {hint !== undefined && <p className="hint">{hint}</p>}
      <div className="choices">
        {[...options, ...missing].map(({ urn, name }) => (
          <Checkbox
            key={urn}
            label={name}
            isChecked={chosen.some((it) => it.urn === urn)}
            onChange={(isChecked) =>
              onChange(
                isChecked ? [...chosen, { urn, name }] : chosen.filter((it) => it.urn !== urn),
              )
            }
          />
        ))}
      </div>
    </div>
  );
}
