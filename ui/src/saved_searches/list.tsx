import { useState } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { Menu } from "../components/menu.tsx";
import { LoadingOrError } from "../components/states.tsx";
import { UndoNotice, useUndo } from "../components/undo.tsx";
import {
  DeleteSearchDocument,
  RenameSearchDocument,
  SaveSearchDocument,
  SavedSearchesDocument,
  type SavedSearchesQuery,
} from "../generated/operations.ts";
import { SAVED_SEARCH } from "../search/state.ts";
import { texts } from "../texts.ts";
import { NameDialog } from "./name_dialog.tsx";

type View = NonNullable<SavedSearchesQuery["listMyViews"]>["views"][number];

/** The user's saved searches, which can be renamed and deleted. */
export function SavedSearches() {
  const read = useApiQuery(SavedSearchesDocument, {});
  const [renamed, setRenamed] = useState<View | null>(null);
  const rename = useApiMutation(RenameSearchDocument);
  const remove = useApiMutation(DeleteSearchDocument);
  const create = useApiMutation(SaveSearchDocument);
  const undo = useUndo();
  const views = read.data?.listMyViews?.views;
  const deleteView = (view: View) => {
    const { entityTypes, filter } = view.definition;
    const again = { name: view.name, entityTypes, filters: filter.filters };
    // A view with alternatives was made elsewhere, and saving it here would change its meaning.
    const restore =
      filter.operator === "AND" || filter.filters.length < 2
        ? () => create.mutate(again, { onSuccess: undo.clear })
        : undefined;
    remove.mutate(
      { urn: view.urn },
      {
        onSuccess: () => {
          if (restore !== undefined) undo.report(texts.saved.deleted(view.name), restore);
        },
      },
    );
  };
  return (
    <section aria-labelledby="home-saved">
      <h2 id="home-saved">{texts.saved.heading}</h2>
      {views === undefined && <LoadingOrError read={read} lines={2} />}
      {views?.length === 0 && <p className="hint">{texts.saved.none}</p>}
      {views !== undefined && views.length > 0 && (
        <ul className="row-list">
          {views.map((view) => (
            <li key={view.urn}>
              <Link href={addresses.search("", { [SAVED_SEARCH]: [view.urn] })} dir="auto">
                {view.name}
              </Link>
              <Menu
                label={texts.saved.actions(view.name)}
                trigger="⋯"
                items={[
                  { label: texts.saved.rename, onSelect: () => setRenamed(view) },
                  {
                    label: texts.saved.delete,
                    onSelect: () => deleteView(view),
                    isDangerous: true,
                  },
                ]}
              />
            </li>
          ))}
        </ul>
      )}
      <UndoNotice last={undo.last} isBusy={create.isPending} error={remove.error ?? create.error} />
      {renamed !== null && (
        <NameDialog
          title={texts.saved.renameTitle}
          initial={renamed.name}
          error={rename.error}
          isBusy={rename.isPending}
          onClose={() => {
            rename.reset();
            setRenamed(null);
          }}
          onName={(name) =>
            rename.mutate({ urn: renamed.urn, name }, { onSuccess: () => setRenamed(null) })
          }
        />
      )}
    </section>
  );
}
