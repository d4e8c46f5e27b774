import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { formTexts } from "../form_texts.ts";
import { answeredOf, formsOf } from "../forms/form.ts";
import { FormSummariesDocument } from "../generated/operations.ts";
import { RailSection } from "./section.tsx";

const words = formTexts.asset;

/** The forms of a dataset, if it has any, with how much of each is answered. */
export function RailForms({ urn }: { readonly urn: string }) {
  const forms = formsOf(useApiQuery(FormSummariesDocument, { urn }).data?.dataset?.forms);
  if (forms.length === 0) return null;
  return (
    <RailSection id="forms" heading={words.heading}>
      <ul className="value-list">
        {forms.map(({ association, state }) => (
          <li key={association.form.urn}>
            <Link dir="auto" href={addresses.datasetTab(urn, "Forms")}>
              {association.form.info.name}
            </Link>
            <div className="hint">
              {formTexts.states[state]}
              {state === "incomplete" &&
                `, ${words.progress(answeredOf(association), association.form.info.prompts.length)}`}
            </div>
          </li>
        ))}
      </ul>
    </RailSection>
  );
}
