import { useState } from "react";
import { useLocation } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery, useMe } from "../api/cache.ts";
import { columnCountsOf, countsOf, labelFacets } from "../browse/counts.ts";
import { EntityList, type ListedEntity } from "../browse/list.tsx";
import { plainText } from "../components/plain_text.ts";
import { ValueCountsDocument } from "../generated/operations.ts";
import { CreateTagDialog, TAG_FIELDS } from "../tags/dialogs.tsx";
import { tagTexts } from "../tag_texts.ts";
import { texts } from "../texts.ts";

const propertiesOf = (entity: ListedEntity) =>
  "tagProperties" in entity ? entity.tagProperties : undefined;

/** All tags with their colors and how many entities have them. */
export default function TagsPage() {
  const words = tagTexts;
  const [, navigate] = useLocation();
  const [isCreating, setCreating] = useState(false);
  const privileges = useMe().data?.me?.platformPrivileges;
  const canCreate = privileges?.createTags === true || privileges?.manageTags === true;
  const read = useApiQuery(ValueCountsDocument, { facets: labelFacets(TAG_FIELDS) });
  const onAssets = countsOf(read.data, "tags");
  const onColumns = columnCountsOf(read.data, TAG_FIELDS);
  const number = (counts: ReadonlyMap<string, number>, urn: string) =>
    read.data === undefined ? "" : texts.number(counts.get(urn) ?? 0);
  return (
    <>
      <EntityList
        path={addresses.tags}
        type="TAG"
        words={words}
        mark={(entity) => (
          <span
            className="tag-dot"
            style={{ backgroundColor: propertiesOf(entity)?.colorHex || "var(--border-strong)" }}
            aria-hidden="true"
          />
        )}
        columns={[
          {
            title: words.columns.description,
            kind: "text",
            cell: (entity) => plainText(propertiesOf(entity)?.description ?? ""),
          },
          {
            title: words.columns.assets,
            kind: "number",
            cell: ({ urn }) => number(onAssets, urn),
          },
          {
            title: words.columns.columns,
            kind: "number",
            cell: ({ urn }) => number(onColumns, urn),
          },
        ]}
        actions={
          canCreate && (
            <button type="button" onClick={() => setCreating(true)}>
              {words.create}
            </button>
          )
        }
      />
      {isCreating && (
        <CreateTagDialog
          onClose={() => setCreating(false)}
          onCreated={(urn) => navigate(addresses.entity(urn))}
        />
      )}
    </>
  );
}
