import { useState } from "react";
import { Link, useLocation, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { Menu } from "../components/menu.tsx";
import { EmptyState, LoadingOrError, StaleNotice } from "../components/states.tsx";
import { UndoNotice, useUndo } from "../components/undo.tsx";
import {
  CreatePolicyDocument,
  DeletePolicyDocument,
  MyAccessDocument,
  PoliciesDocument,
  UpdatePolicyDocument,
} from "../generated/operations.ts";
import { policyTexts } from "../policy_texts.ts";
import { ConfirmDialog, FilterField, Select, Warning } from "./common.tsx";
import {
  EMPTY_POLICY,
  inputOf,
  policyOf,
  riskOf,
  type Membership,
  type Policy,
  type Risk,
} from "./policy.ts";
import { PolicyForm } from "./policy_form.tsx";
import { sentenceOf } from "./policy_sentence.ts";
import { useRights } from "../rights.ts";

interface Entry {
  readonly urn: string;
  readonly isEditable: boolean;
  readonly policy: Policy;
  readonly sentence: string;
}

/** A change that takes rights away, until the user confirms it. */
interface Confirmation {
  readonly title: string;
  readonly button: string;
  readonly body: string | null;
  readonly risk: Risk | null;
  readonly run: () => void;
}

const NEW = "new";
const LIMIT = 1_000;

/** All policies, each as a sentence, and the form for one of them. */
export default function Policies() {
  const words = policyTexts;
  const { user } = useRights();
  const [, navigate] = useLocation();
  const parameters = new URLSearchParams(useSearch());
  const filters = {
    query: parameters.get("query") ?? "",
    state: parameters.get("state") ?? "",
    kind: parameters.get("kind") ?? "",
    role: parameters.get("role") ?? "",
  };
  const selected = parameters.get("policy");
  const read = useApiQuery(PoliciesDocument, {});
  const access = useApiQuery(MyAccessDocument, { user }, { enabled: user !== "" });
  const create = useApiMutation(CreatePolicyDocument);
  const update = useApiMutation(UpdatePolicyDocument);
  const remove = useApiMutation(DeletePolicyDocument);
  const { last, report, clear } = useUndo();
  const [confirmation, setConfirmation] = useState<Confirmation | null>(null);

  if (read.data === undefined) return <LoadingOrError read={read} lines={8} />;
  const entries: readonly Entry[] = (read.data.listPolicies?.policies ?? []).map((stored) => {
    const policy = policyOf(stored);
    const sentence = sentenceOf(policy);
    return { urn: stored.urn, isEditable: stored.editable, policy, sentence };
  });
  const me: Membership = {
    user,
    groups: access.data?.debugAccess.groups ?? [],
    roles: access.data?.debugAccess.allRoles ?? [],
  };
  const isBusy = create.isPending || update.isPending || remove.isPending;
  const error = create.error ?? update.error ?? remove.error;
  const reset = () => {
    clear();
    for (const mutation of [create, update, remove]) mutation.reset();
  };
  /** What replacing a policy, or deleting it with `null`, takes away. */
  const risk = (urn: string | null, next: Policy | null) => {
    const before = entries.map(({ policy }) => policy);
    const others = entries.filter((entry) => entry.urn !== urn).map(({ policy }) => policy);
    return riskOf(before, next === null ? others : [...others, next], me);
  };

  const store = (urn: string, next: Policy, onStored: () => void) =>
    update.mutate({ urn, input: inputOf(next) }, { onSuccess: onStored });
  const setActive = ({ urn, policy }: Entry, isActive: boolean) => {
    const next: Policy = { ...policy, state: isActive ? "ACTIVE" : "INACTIVE" };
    store(urn, next, () => {
      setConfirmation(null);
      const done = isActive ? words.activated : words.deactivated;
      report(done(policy.name), () => store(urn, policy, clear));
    });
  };
  const toggle = (entry: Entry) => {
    reset();
    const isActive = entry.policy.state !== "ACTIVE";
    const loss = isActive ? null : risk(entry.urn, { ...entry.policy, state: "INACTIVE" });
    if (loss === null) {
      setActive(entry, isActive);
      return;
    }
    setConfirmation({
      title: words.deactivateTitle(entry.policy.name),
      button: words.deactivate,
      body: null,
      risk: loss,
      run: () => setActive(entry, false),
    });
  };
  const askToDelete = ({ urn, policy }: Entry) => {
    reset();
    const run = () =>
      remove.mutate(
        { urn },
        {
          onSuccess: () => {
            setConfirmation(null);
            const restore = () => create.mutate({ input: inputOf(policy) }, { onSuccess: clear });
            report(words.removed(policy.name), restore);
          },
        },
      );
    setConfirmation({
      title: words.removeTitle(policy.name),
      button: words.removeButton,
      body: words.removeBody,
      risk: risk(urn, null),
      run,
    });
  };
  const save = (urn: string | null, before: Policy, next: Policy, onSaved: () => void) => {
    reset();
    const done = () => {
      setConfirmation(null);
      onSaved();
    };
    const run = () => {
      if (urn !== null) {
        store(urn, next, () => {
          done();
          report(words.saved(next.name), () => store(urn, before, clear));
        });
        return;
      }
      create.mutate(
        { input: inputOf(next) },
        {
          onSuccess: ({ createPolicy }) => {
            done();
            report(words.created(next.name), () =>
              remove.mutate({ urn: createPolicy ?? "" }, { onSuccess: clear }),
            );
          },
        },
      );
    };
    const loss = risk(urn, next);
    if (loss === null) run();
    else
      setConfirmation({
        title: words.saveTitle(next.name),
        button: words.saveAnyway,
        body: null,
        risk: loss,
        run,
      });
  };

  const dialog = confirmation !== null && (
    <ConfirmDialog
      title={confirmation.title}
      button={confirmation.button}
      isBusy={isBusy}
      error={error}
      onConfirm={confirmation.run}
      onClose={() => setConfirmation(null)}
    >
      {confirmation.body !== null && <p>{confirmation.body}</p>}
      {confirmation.risk !== null && <Warning>{words[confirmation.risk]}</Warning>}
    </ConfirmDialog>
  );
  const edited = entries.find(({ urn }) => urn === selected);
  if (selected === NEW || edited !== undefined) {
    const before = edited?.policy ?? EMPTY_POLICY;
    return (
      <>
        <PolicyForm
          key={selected}
          before={edited === undefined ? null : before}
          isBusy={isBusy}
          error={confirmation === null ? error : null}
          backAddress={addresses.settingsWith("policies", filters)}
          onDone={() => navigate(addresses.settingsWith("policies", filters))}
          onSave={(next, onSaved) => save(edited?.urn ?? null, before, next, onSaved)}
        />
        {dialog}
      </>
    );
  }
  const filter = (changed: Partial<typeof filters>) =>
    navigate(addresses.settingsWith("policies", { ...filters, ...changed }), {
      replace: true,
      state: addresses.SAME_PAGE,
    });
  const shown = entries.filter((entry) => matches(entry, filters));
  return (
    <>
      <p className="hint admin-intro">{words.intro}</p>
      <div className="admin-filters">
        <FilterField
          label={words.find}
          value={filters.query}
          onChange={(query) => filter({ query })}
        />
        <Select
          label={words.state}
          options={words.states}
          value={filters.state}
          onChange={(state) => filter({ state })}
        />
        <Select
          label={words.kind}
          options={words.kinds}
          value={filters.kind}
          onChange={(kind) => filter({ kind })}
        />
        <Select
          label={words.forWhom}
          options={rolesOf(entries)}
          value={filters.role}
          onChange={(role) => filter({ role })}
        />
        <Link
          className="button primary"
          href={addresses.settingsWith("policies", { ...filters, policy: NEW })}
        >
          {words.create}
        </Link>
      </div>
      <StaleNotice read={read} />
      <UndoNotice last={last} isBusy={isBusy} error={confirmation === null ? error : null} />
      <p className="hint" role="status">
        {words.shown(shown.length, entries.length)}
        {(read.data.listPolicies?.total ?? 0) > LIMIT && ` ${words.limited}`}
      </p>
      {shown.length === 0 && (
        <EmptyState title={words.none} hint={words.noneHint}>
          <Link href={addresses.settings("policies")}>{words.showAll}</Link>
        </EmptyState>
      )}
      <ul className="policy-list" aria-label={words.list}>
        {shown.map((entry) => (
          <PolicyItem
            key={entry.urn}
            entry={entry}
            address={addresses.settingsWith("policies", { ...filters, policy: entry.urn })}
            onToggle={() => toggle(entry)}
            onDelete={() => askToDelete(entry)}
          />
        ))}
      </ul>
      {dialog}
    </>
  );
}

/** The roles that policies name, for the filter. */
function rolesOf(entries: readonly Entry[]): Readonly<Record<string, string>> {
  const roles = entries.flatMap(({ policy }) => policy.roles);
  return {
    "": policyTexts.allRoles,
    ...Object.fromEntries(roles.map(({ urn, name }) => [urn, name])),
  };
}

function matches(
  { policy, sentence }: Entry,
  filters: {
    readonly query: string;
    readonly state: string;
    readonly kind: string;
    readonly role: string;
  },
): boolean {
  const text = `${policy.name} ${policy.description} ${sentence} ${policy.privileges.join(" ")}`;
  return (
    text.toLocaleLowerCase().includes(filters.query.trim().toLocaleLowerCase()) &&
    (filters.state === "" || policy.state === filters.state) &&
    (filters.kind === "" || policy.type === filters.kind) &&
    (filters.role === "" || policy.roles.some(({ urn }) => urn === filters.role))
  );
}

function PolicyItem({
  entry: { policy, sentence, isEditable },
  address,
  onToggle,
  onDelete,
}: {
  readonly entry: Entry;
  readonly address: string;
  readonly onToggle: () => void;
  readonly onDelete: () => void;
}) {
  const words = policyTexts;
  const isActive = policy.state === "ACTIVE";
  return (
    <li className="policy" data-inactive={!isActive}>
      <div className="policy-text">
        <h3 dir="auto">
          {policy.name}
          {!isActive && <span className="chip">{words.states[policy.state]}</span>}
        </h3>
        <p dir="auto">{sentence}</p>
        {policy.description !== "" && (
          <p className="hint" dir="auto">
            {policy.description}
          </p>
        )}
        {!isEditable && <p className="hint">{words.fixed}</p>}
      </div>
      {isEditable && (
        <div className="policy-actions">
          <Link className="button" href={address} aria-label={words.editLabel(policy.name)}>
            {words.edit}
          </Link>
          <Menu
            label={words.more(policy.name)}
            trigger="⋯"
            items={[
              { label: isActive ? words.deactivate : words.activate, onSelect: onToggle },
              { label: words.remove, isDangerous: true, onSelect: onDelete },
            ]}
          />
        </div>
      )}
    </li>
  );
}
