import { useState } from "react";

import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { Dialog } from "../components/dialog.tsx";
import { EmptyState, LoadingOrError, StaleNotice } from "../components/states.tsx";
import { TableScroll } from "../components/table_scroll.tsx";
import { UndoNotice, useUndo } from "../components/undo.tsx";
import {
  CreateOwnershipTypeDocument,
  DeleteOwnershipTypeDocument,
  ManagedOwnershipTypesDocument,
  UpdateOwnershipTypeDocument,
  type ManagedOwnershipTypesQuery,
} from "../generated/operations.ts";
import { urnId } from "../names.ts";
import { adminTexts } from "../admin_texts.ts";
import { ConfirmDialog } from "./common.tsx";
import { NameForm } from "./name_form.tsx";

type Type = ManagedOwnershipTypesQuery["listOwnershipTypes"]["ownershipTypes"][number];

const BUILT_IN = "urn:li:ownershipType:__system__";
const nameOfType = (type: Type) => type.info?.name ?? urnId(type.urn);

/** The kinds of owners. */
export default function OwnershipTypes() {
  const words = adminTexts.ownershipTypes;
  const read = useApiQuery(ManagedOwnershipTypesDocument, {});
  const create = useApiMutation(CreateOwnershipTypeDocument);
  const update = useApiMutation(UpdateOwnershipTypeDocument);
  const remove = useApiMutation(DeleteOwnershipTypeDocument);
  const { last, report, clear } = useUndo();
  const [done, setDone] = useState<string | null>(null);
  const [open, setOpen] = useState<{
    readonly action: "create" | "edit" | "remove";
    readonly type: Type | null;
  } | null>(null);
  const types = read.data?.listOwnershipTypes.ownershipTypes;
  const close = () => setOpen(null);
  const start = (action: "create" | "edit" | "remove", type: Type | null) => {
    for (const mutation of [create, update, remove]) mutation.reset();
    clear();
    setDone(null);
    setOpen({ action, type });
  };
  const save = (type: Type | null, name: string, description: string) => {
    if (type === null) {
      create.mutate({ name, description }, { onSuccess: close });
      return;
    }
    const before = {
      urn: type.urn,
      name: nameOfType(type),
      description: type.info?.description ?? "",
    };
    update.mutate(
      { urn: type.urn, name, description },
      {
        onSuccess: () => {
          close();
          report(words.saved(name), () => update.mutate(before, { onSuccess: clear }));
        },
      },
    );
  };
  return (
    <>
      <p className="hint admin-intro">{words.intro}</p>
      <div className="admin-filters">
        <button type="button" className="primary" onClick={() => start("create", null)}>
          {words.create}
        </button>
      </div>
      {types === undefined && <LoadingOrError read={read} />}
      <StaleNotice read={read} />
      <UndoNotice
        last={last}
        isBusy={update.isPending}
        error={open === null ? update.error : null}
      />
      <p className="hint" role="status">
        {done}
      </p>
      {types?.length === 0 && <EmptyState title={words.none} />}
      {types !== undefined && types.length > 0 && (
        <TableScroll>
          <table className="data-table stacked">
            <thead>
              <tr>
                <th scope="col">{words.columns.name}</th>
                <th scope="col">{words.columns.description}</th>
                <td />
              </tr>
            </thead>
            <tbody>
              {types.map((type) => (
                <tr key={type.urn}>
                  <th scope="row" dir="auto">
                    {nameOfType(type)}
                  </th>
                  <td dir="auto">{type.info?.description}</td>
                  <td className="row-actions">
                    {type.urn.startsWith(BUILT_IN) ? (
                      <span className="hint">{words.builtIn}</span>
                    ) : (
                      <>
                        <button
                          type="button"
                          aria-label={words.editLabel(nameOfType(type))}
                          onClick={() => start("edit", type)}
                        >
                          {words.edit}
                        </button>{" "}
                        <button
                          type="button"
                          className="subtle"
                          aria-label={words.removeLabel(nameOfType(type))}
                          onClick={() => start("remove", type)}
                        >
                          {words.remove}
                        </button>
                      </>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableScroll>
      )}
      {open !== null && open.action !== "remove" && (
        <Dialog
          title={open.type === null ? words.create : words.editTitle(nameOfType(open.type))}
          isOpen
          onClose={close}
        >
          <NameForm
            name={open.type === null ? "" : nameOfType(open.type)}
            description={open.type?.info?.description ?? ""}
            button={open.type === null ? words.createButton : words.save}
            isBusy={create.isPending || update.isPending}
            error={create.error ?? update.error}
            onSubmit={(name, description) => save(open.type, name, description)}
            onClose={close}
          />
        </Dialog>
      )}
      {open?.action === "remove" && open.type !== null && (
        <RemoveType
          type={open.type}
          isBusy={remove.isPending}
          error={remove.error}
          onConfirm={(type) =>
            remove.mutate(
              { urn: type.urn },
              {
                onSuccess: () => {
                  close();
                  setDone(words.removed(nameOfType(type)));
                },
              },
            )
          }
          onClose={close}
        />
      )}
    </>
  );
}

function RemoveType({
  type,
  onConfirm,
  ...dialog
}: {
  readonly type: Type;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly onConfirm: (type: Type) => void;
  readonly onClose: () => void;
}) {
  const words = adminTexts.ownershipTypes;
  return (
    <ConfirmDialog
      title={words.removeTitle(nameOfType(type))}
      button={words.removeButton}
      onConfirm={() => onConfirm(type)}
      {...dialog}
    >
      <p>{words.removeBody}</p>
    </ConfirmDialog>
  );
}
