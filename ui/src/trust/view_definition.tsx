import { useApiQuery } from "../api/cache.ts";
import { CopyButton } from "../components/common.tsx";
import { SectionHeader } from "../components/sections.tsx";
import { ViewDefinitionDocument } from "../generated/operations.ts";
import { trustTexts } from "../trust_texts.ts";
import { Sql } from "./sql.tsx";

const words = trustTexts.view;

/** The query behind a view; nothing for other datasets. */
export default function ViewDefinition({ urn }: { readonly urn: string }) {
  const view = useApiQuery(ViewDefinitionDocument, { urn }).data?.dataset?.viewProperties;
  if (view == null || view.logic === "") return null;
  const text = view.formattedLogic || view.logic;
  return (
    <section className="section" aria-labelledby="view">
      <SectionHeader title={words.heading} id="view">
        <span className="hint">
          {view.language}
          {view.materialized && ` · ${words.materialized}`}
        </span>
        <CopyButton text={text} label={words.copy} />
      </SectionHeader>
      <Sql text={text} />
    </section>
  );
}
