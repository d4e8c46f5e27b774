import { useState } from "react";
import { Link, useLocation } from "wouter";

import { AdminTable } from "../admin/common.tsx";
import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { isNotFound, run } from "../api/client.ts";
import { DeleteDialog } from "../components/delete_dialog.tsx";
import { EmptyState, LoadingOrError, StaleNotice } from "../components/states.tsx";
import { formTexts as words } from "../form_texts.ts";
import {
  DeleteFormDocument,
  FormCountsDocument,
  ManagedFormDocument,
  type ManagedFormFragment,
} from "../generated/operations.ts";
import { nameOfProperty } from "../properties/definition.ts";
import { AssignmentDialog } from "./assignment.tsx";
import { FormAssets } from "./assets.tsx";
import { FormEditor } from "./editor.tsx";
import { assigneesOf, countsOf } from "./form.ts";

/** One form: its prompts and assignees, and the datasets that have it. */
export function ManagedFormView({ urn }: { readonly urn: string }) {
  const [, navigate] = useLocation();
  const read = useApiQuery(ManagedFormDocument, { urn });
  const counts = useApiQuery(FormCountsDocument, {});
  const [open, setOpen] = useState<"edit" | "remove" | "assign" | null>(null);
  const [done, setDone] = useState<string | null>(null);
  const form = read.data?.form;
  const list = addresses.settings("forms");
  const isMissing = form === null || (read.isLoadingError && isNotFound(read.error as Error));
  const start = (next: "edit" | "remove" | "assign") => {
    setDone(null);
    setOpen(next);
  };
  const close = () => setOpen(null);
  return (
    <>
      <p>
        <Link href={list}>← {words.back}</Link>
      </p>
      {isMissing ? (
        <EmptyState title={words.missing} />
      ) : (
        read.data === undefined && <LoadingOrError read={read} />
      )}
      <StaleNotice read={read} />
      {form != null && (
        <>
          <div className="section-header">
            <h3 dir="auto">{form.info.name}</h3>
            <button type="button" className="primary" onClick={() => start("assign")}>
              {words.assignment.open}
            </button>
            <button
              type="button"
              aria-label={words.editLabel(form.info.name)}
              onClick={() => start("edit")}
            >
              {words.edit}
            </button>
            <button
              type="button"
              className="dangerous"
              aria-label={words.removeLabel(form.info.name)}
              onClick={() => start("remove")}
            >
              {words.remove}
            </button>
          </div>
          <p className="hint" role="status">
            {done}
          </p>
          <Definition form={form} />
          <FormAssets form={form} counts={countsOf(counts.data, urn)} onDone={setDone} />
          {open === "edit" && (
            <FormEditor
              form={form}
              onClose={close}
              onSaved={() => setDone(words.saved(form.info.name))}
            />
          )}
          {open === "assign" && (
            <AssignmentDialog form={form} onClose={close} onAssigned={setDone} />
          )}
          {open === "remove" && (
            <DeleteDialog
              name={form.info.name}
              isReady={counts.data !== undefined}
              onDelete={() => run(DeleteFormDocument, { urn })}
              onDeleted={() => navigate(list)}
              onClose={close}
            >
              <Loss assigned={countsOf(counts.data, urn).assigned} />
            </DeleteDialog>
          )}
        </>
      )}
    </>
  );
}

function Loss({ assigned }: { readonly assigned: number }) {
  const { total, none, values } = words.deletion;
  return (
    <>
      <p>{assigned === 0 ? none : total(assigned)}</p>
      <p>{values}</p>
    </>
  );
}

function Definition({ form: { info } }: { readonly form: ManagedFormFragment }) {
  const columns = words.promptColumns;
  return (
    <>
      {info.description != null && info.description !== "" && (
        <p className="admin-intro" dir="auto">
          {info.description}
        </p>
      )}
      <dl className="form-facts">
        <div>
          <dt>{words.editor.type}</dt>
          <dd>
            {words.types[info.type]} <span className="hint">{words.typeHints[info.type]}</span>
          </dd>
        </div>
        <div>
          <dt>{words.who}</dt>
          <dd dir="auto">{assigneesOf(info.actors)}</dd>
        </div>
      </dl>
      <section aria-labelledby="form-prompts">
        <h3 id="form-prompts">{words.promptsHeading}</h3>
        {info.prompts.length === 0 ? (
          <p className="hint">{words.noPrompts}</p>
        ) : (
          <AdminTable columns={columns} hasActions={false}>
            {info.prompts.map((prompt) => (
              <tr key={prompt.id}>
                <th scope="row" dir="auto">
                  {prompt.title}
                  {prompt.description != null && prompt.description !== "" && (
                    <span className="hint property-definition">{prompt.description}</span>
                  )}
                </th>
                <td data-label={columns.property} dir="auto">
                  {prompt.structuredPropertyParams != null &&
                    nameOfProperty(prompt.structuredPropertyParams.structuredProperty)}
                </td>
                <td data-label={columns.about}>{words.about[prompt.type]}</td>
                <td data-label={columns.required}>{prompt.required ? words.yes : words.no}</td>
              </tr>
            ))}
          </AdminTable>
        )}
      </section>
    </>
  );
}
