import { useMutation } from "@tanstack/react-query";

import { run } from "../api/client.ts";
import { Editor } from "../components/editor.tsx";
import { FormattedText } from "../components/formatted_text.tsx";
import { ErrorMessage } from "../components/states.tsx";
import { IngestionRecipeDocument } from "../generated/operations.ts";
import { ingestionTexts } from "../ingestion_texts.ts";
import { STORED_RECIPE, TEMPLATE, recipeText } from "./recipe.ts";

const words = ingestionTexts.form;
const SECRET = "${WAREHOUSE_PASSWORD}";

/** The stored recipe as people edit it, or a template for users to whom it is not shown. */
async function readRecipe(source: string) {
  const reply = await run(IngestionRecipeDocument, { urn: source });
  const recipe = reply.ingestionSource?.config.recipe ?? STORED_RECIPE;
  const isHidden = recipe === STORED_RECIPE;
  return { isHidden, text: isHidden ? TEMPLATE : await recipeText(recipe) };
}

/** The recipe of a source. Its text is null while the stored recipe stays. */
export function RecipeField({
  source,
  text,
  error,
  onOpen,
  onChange,
  onKeep,
}: {
  /** Null for a new source. */
  readonly source: string | null;
  readonly text: string | null;
  readonly error: string | null;
  readonly onOpen: (text: string) => void;
  readonly onChange: (text: string) => void;
  readonly onKeep: () => void;
}) {
  const open = useMutation({
    mutationFn: () => readRecipe(source ?? ""),
    onSuccess: ({ text: opened }) => onOpen(opened),
  });
  if (text === null) {
    return (
      <div className="form-field">
        <span className="field-label">{words.recipe}</span>
        <span className="hint">{words.keepRecipe}</span>
        <div>
          <button type="button" disabled={open.isPending} onClick={() => open.mutate()}>
            {words.editRecipe}
          </button>
        </div>
        {open.error !== null && <ErrorMessage error={open.error} />}
      </div>
    );
  }
  return (
    <div className="form-field recipe">
      <span className="field-label">{words.recipe}</span>
      {open.data?.isHidden === true && <span className="hint">{words.recipeHidden}</span>}
      <Editor
        language="yaml"
        label={words.recipe}
        value={text}
        onChange={onChange}
        // The dialog itself handles Ctrl+Enter.
        onSave={() => undefined}
        onCancel={() => undefined}
      />
      <span className="hint">
        <FormattedText text={words.recipeHint} values={{ secret: <code>{SECRET}</code> }} />
      </span>
      <span className="field-error" role="alert">
        {error}
      </span>
      {source !== null && (
        <button type="button" onClick={onKeep}>
          {words.keepStored}
        </button>
      )}
    </div>
  );
}
