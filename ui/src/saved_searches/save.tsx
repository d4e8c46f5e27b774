import { useState } from "react";

import { useApiMutation } from "../api/cache.ts";
import { SaveSearchDocument } from "../generated/operations.ts";
import { SAVED_SEARCH, definitionOf, filteredFields, type SearchState } from "../search/state.ts";
import { texts } from "../texts.ts";
import { NameDialog } from "./name_dialog.tsx";

/** Why a search can't be saved. A search that is saved already has nothing to save. */
function obstacleTo(state: SearchState): string | undefined {
  const fields = filteredFields(state);
  if (fields.length === 0)
    return state.query === "" ? undefined : texts.saved.noFilters(state.query);
  if (!fields.includes(SAVED_SEARCH)) return texts.saved.labelFilter;
  return fields.length > 1 ? texts.saved.ofSaved : undefined;
}

/** Saves the filters of a search, and says what it leaves out. */
export function SaveSearch({ state }: { readonly state: SearchState }) {
  const [isOpen, setOpen] = useState(false);
  const [message, setMessage] = useState("");
  const save = useApiMutation(SaveSearchDocument);
  const definition = definitionOf(state);
  const obstacle = definition === undefined ? obstacleTo(state) : undefined;
  const omitted = state.query === "" ? undefined : texts.saved.filtersOnly(state.query);
  return (
    <>
      {(definition !== undefined || obstacle !== undefined) && (
        <button
          type="button"
          className="subtle"
          onClick={() => (obstacle === undefined ? setOpen(true) : setMessage(obstacle))}
        >
          {texts.saved.save}
        </button>
      )}
      <span role="status" className="hint">
        {message}
      </span>
      {isOpen && definition !== undefined && (
        <NameDialog
          title={texts.saved.saveTitle}
          hint={omitted}
          initial=""
          error={save.error}
          isBusy={save.isPending}
          onClose={() => {
            save.reset();
            setOpen(false);
          }}
          onName={(name) =>
            save.mutate(
              { name, ...definition },
              {
                onSuccess: () => {
                  const saved = texts.saved.saved(name);
                  setMessage(omitted === undefined ? saved : `${saved} ${omitted}`);
                  setOpen(false);
                },
              },
            )
          }
        />
      )}
    </>
  );
}
