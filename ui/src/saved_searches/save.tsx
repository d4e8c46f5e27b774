import { useState } from "react";

import { useApiMutation } from "../api/cache.ts";
import { SaveSearchDocument } from "../generated/operations.ts";
import { definitionOf, type SearchState } from "../search/state.ts";
import { texts } from "../texts.ts";
import { NameDialog } from "./name_dialog.tsx";

/** Saves the filters of a search; nothing to save without any. */
export function SaveSearch({ state }: { readonly state: SearchState }) {
  const [isOpen, setOpen] = useState(false);
  const [saved, setSaved] = useState("");
  const save = useApiMutation(SaveSearchDocument);
  const definition = definitionOf(state);
  return (
    <>
      {definition !== undefined && (
        <button type="button" className="subtle" onClick={() => setOpen(true)}>
          {texts.saved.save}
        </button>
      )}
      <span role="status" className="hint">
        {saved}
      </span>
      {isOpen && definition !== undefined && (
        <NameDialog
          title={texts.saved.saveTitle}
          hint={state.query === "" ? undefined : texts.saved.filtersOnly(state.query)}
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
                  setSaved(texts.saved.saved(name));
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
