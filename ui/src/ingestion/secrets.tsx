import { useState } from "react";
import { useSearch } from "wouter";

import { AdminTable, FilterField } from "../admin/common.tsx";
import * as addresses from "../addresses.ts";
import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { run } from "../api/client.ts";
import { DeleteDialog } from "../components/delete_dialog.tsx";
import { FormDialog, closeThen, fieldOf } from "../components/form_dialog.tsx";
import { focusOnMount } from "../components/focus.ts";
import { FormattedText } from "../components/formatted_text.tsx";
import { Pagination, pageFromAddress } from "../components/pagination.tsx";
import { EmptyState, LoadingOrError, StaleNotice } from "../components/states.tsx";
import {
  CreateSecretDocument,
  DeleteSecretDocument,
  SecretsDocument,
  UpdateSecretDocument,
  type SecretsQuery,
} from "../generated/operations.ts";
import { ingestionTexts } from "../ingestion_texts.ts";

const words = ingestionTexts.secrets;
const PAGE_SIZE = 50;
/** What recipes can refer to. */
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const EXAMPLE = "${WAREHOUSE_PASSWORD}";

type Secret = NonNullable<SecretsQuery["listSecrets"]>["secrets"][number];

/** The secrets of recipes, without their values. */
export default function Secrets() {
  const page = pageFromAddress(new URLSearchParams(useSearch()), PAGE_SIZE);
  const [query, setQuery] = useState("");
  const [open, setOpen] = useState<{
    readonly action: "create" | "edit" | "remove";
    readonly secret: Secret | null;
  } | null>(null);
  const [done, setDone] = useState<string | null>(null);
  const typed = query.trim();
  const read = useApiQuery(
    SecretsDocument,
    {
      query: typed === "" ? null : typed,
      start: typed === "" ? (page - 1) * PAGE_SIZE : 0,
      count: PAGE_SIZE,
    },
    { keepPrevious: true },
  );
  const found = read.data?.listSecrets;
  const start = (action: "create" | "edit" | "remove", secret: Secret | null) => {
    setDone(null);
    setOpen({ action, secret });
  };
  const close = () => setOpen(null);
  const secret = open?.secret ?? null;
  return (
    <>
      <p className="hint admin-intro">
        <FormattedText text={words.intro} values={{ secret: <code>{EXAMPLE}</code> }} />
      </p>
      <div className="admin-filters">
        <FilterField label={words.find} value={query} onChange={setQuery} />
        <button type="button" className="primary" onClick={() => start("create", null)}>
          {words.create}
        </button>
      </div>
      {read.data === undefined && <LoadingOrError read={read} />}
      <StaleNotice read={read} />
      <p className="hint" role="status">
        {done}
      </p>
      {found?.total === 0 &&
        (typed === "" ? (
          <EmptyState title={words.none} hint={words.noneHint} />
        ) : (
          <p className="hint">{words.noMatch(typed)}</p>
        ))}
      {found != null && found.secrets.length > 0 && (
        <AdminTable columns={words.columns}>
          {found.secrets.map((it) => (
            <tr key={it.urn}>
              <th scope="row">
                <code>{it.name}</code>
              </th>
              <td dir="auto">{it.description}</td>
              <td className="row-actions">
                <button
                  type="button"
                  aria-label={words.editLabel(it.name)}
                  onClick={() => start("edit", it)}
                >
                  {words.edit}
                </button>{" "}
                <button
                  type="button"
                  className="subtle"
                  aria-label={words.removeLabel(it.name)}
                  onClick={() => start("remove", it)}
                >
                  {words.remove}
                </button>
              </td>
            </tr>
          ))}
        </AdminTable>
      )}
      {found != null && typed === "" && (
        <Pagination
          page={page}
          size={PAGE_SIZE}
          total={found.total ?? 0}
          addressOf={(number) => addresses.settingsWith("secrets", {}, number)}
        />
      )}
      {open !== null && open.action !== "remove" && (
        <SecretForm secret={secret} onClose={close} onSaved={setDone} />
      )}
      {open?.action === "remove" && secret !== null && (
        <DeleteDialog
          name={secret.name}
          isReady
          onDelete={() => run(DeleteSecretDocument, { urn: secret.urn })}
          onDeleted={() => setDone(words.removed(secret.name))}
          onClose={close}
        >
          <p>{words.removeBody}</p>
        </DeleteDialog>
      )}
    </>
  );
}

/** Creates a secret, or replaces the value of one. Recipes refer to the first name, so it stays. */
function SecretForm({
  secret,
  onClose,
  onSaved,
}: {
  readonly secret: Secret | null;
  readonly onClose: () => void;
  readonly onSaved: (text: string) => void;
}) {
  const create = useApiMutation(CreateSecretDocument);
  const update = useApiMutation(UpdateSecretDocument);
  const [problem, setProblem] = useState<{
    readonly field: "name" | "value";
    readonly text: string;
  } | null>(null);
  const submit = (fields: FormData) => {
    const name = secret?.name ?? fieldOf(fields, "name");
    // Spaces may be part of a value.
    const value = String(fields.get("value") ?? "");
    const description = fieldOf(fields, "description");
    const found = problemOf(name, value, secret === null);
    setProblem(found);
    if (found !== null) return;
    const input = { name, value, description };
    if (secret === null)
      create.mutate(
        { input },
        { onSuccess: () => closeThen(onClose, () => onSaved(words.created(name))) },
      );
    else
      update.mutate(
        { input: { ...input, urn: secret.urn } },
        { onSuccess: () => closeThen(onClose, () => onSaved(words.saved(name))) },
      );
  };
  const errorOf = (field: "name" | "value") => (problem?.field === field ? problem.text : null);
  return (
    <FormDialog
      title={secret === null ? words.createTitle : words.editTitle(secret.name)}
      submit={secret === null ? words.createButton : words.save}
      isBusy={create.isPending || update.isPending}
      error={create.error ?? update.error}
      onSubmit={submit}
      onClose={onClose}
    >
      {secret === null && (
        <div className="form-field">
          <label>
            {words.name}
            <input
              name="name"
              autoComplete="off"
              spellCheck={false}
              ref={focusOnMount}
              aria-invalid={errorOf("name") !== null}
              aria-describedby="secret-name-hint secret-name-error"
            />
          </label>
          <span id="secret-name-hint" className="hint">
            {words.nameHint}
          </span>
          <span id="secret-name-error" className="field-error" role="alert">
            {errorOf("name")}
          </span>
        </div>
      )}
      <div className="form-field">
        <label>
          {secret === null ? words.value : words.newValue}
          <textarea
            name="value"
            className="secret-value"
            rows={3}
            autoComplete="off"
            spellCheck={false}
            ref={secret === null ? null : focusOnMount}
            aria-invalid={errorOf("value") !== null}
            aria-describedby="secret-value-hint secret-value-error"
          />
        </label>
        <span id="secret-value-hint" className="hint">
          {secret !== null && words.newValueHint}
        </span>
        <span id="secret-value-error" className="field-error" role="alert">
          {errorOf("value")}
        </span>
      </div>
      <label>
        {words.description}
        <textarea name="description" dir="auto" rows={2} defaultValue={secret?.description ?? ""} />
      </label>
    </FormDialog>
  );
}

function problemOf(name: string, value: string, isNew: boolean) {
  if (name === "") return { field: "name" as const, text: words.nameMissing };
  if (isNew && !NAME.test(name)) return { field: "name" as const, text: words.nameInvalid };
  return value === "" ? { field: "value" as const, text: words.valueMissing } : null;
}
