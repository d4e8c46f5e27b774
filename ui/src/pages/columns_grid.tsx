import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useMe } from "../api/cache.ts";
import { MAX_GRID_DATASETS, findColumns } from "../bulk/column_search.ts";
import { ReviewDialog } from "../bulk/review_dialog.tsx";
import { useGridDrafts } from "../bulk/grid_drafts.ts";
import { GridTable } from "../bulk/grid_table.tsx";
import { LoadingOrError, StaleNotice, useTitle } from "../components/states.tsx";
import { bulkTexts } from "../bulk_texts.ts";

/** Describes columns of the same name in several datasets at once. */
export function ColumnsGridPage() {
  const name = (new URLSearchParams(useSearch()).get("name") ?? "").trim();
  const words = bulkTexts.grid;
  useTitle(name === "" ? words.plainTitle : words.title(name));
  return (
    <div className="bulk-page">
      <h1>{name === "" ? words.plainTitle : words.title(name)}</h1>
      <p>{words.intro}</p>
      <NameForm key={name} name={name} />
      {name !== "" && <Grid key={`grid ${name}`} name={name} />}
    </div>
  );
}

function NameForm({ name }: { readonly name: string }) {
  const [, navigate] = useLocation();
  const [text, setText] = useState(name);
  const words = bulkTexts.grid;
  return (
    <form
      className="bulk-search"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== "") navigate(addresses.columnGrid(text.trim()));
      }}
    >
      <label>
        {words.name}
        <input type="search" value={text} onChange={(event) => setText(event.target.value)} />
      </label>
      <button type="submit">{words.find}</button>
    </form>
  );
}

function Grid({ name }: { readonly name: string }) {
  const words = bulkTexts.grid;
  const user = useMe().data?.me?.corpUser.urn ?? "";
  const read = useQuery({
    queryKey: ["columns by name", name],
    queryFn: ({ signal }) => findColumns(name, signal),
  });
  const rows = read.data?.rows ?? [];
  const drafts = useGridDrafts(user, rows);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [isReviewing, setReviewing] = useState(false);
  if (read.data === undefined) return <LoadingOrError read={read} lines={8} />;
  if (rows.length === 0) return <p className="hint">{words.none(name)}</p>;
  const { datasets, total } = read.data;
  const fill = (text: string) => {
    for (const row of rows) if (chosen.has(row.key)) drafts.set(row, text);
  };
  return (
    <>
      <p className="hint" role="status">
        {words.found(rows.length, datasets)}
        {total > MAX_GRID_DATASETS && ` ${words.limited(MAX_GRID_DATASETS, total)}`}
      </p>
      <StaleNotice read={read} />
      <GridTable rows={rows} drafts={drafts} chosen={chosen} onChoose={setChosen} onFill={fill} />
      {(chosen.size > 0 || drafts.changed.length > 0) && (
        <div className="bulk-footer">
          {chosen.size > 0 && <FillForm number={chosen.size} onFill={fill} />}
          {drafts.changed.length > 0 && (
            <>
              <span role="status">{words.changed(drafts.changed.length)}</span>
              <button type="button" onClick={drafts.clear}>
                {words.reset}
              </button>
              <button type="button" className="primary" onClick={() => setReviewing(true)}>
                {words.review}
              </button>
            </>
          )}
        </div>
      )}
      {isReviewing && (
        <ReviewDialog
          changes={drafts.changed}
          onSaved={drafts.settle}
          onClose={() => setReviewing(false)}
        />
      )}
    </>
  );
}

/** Writes one text into all selected rows. */
function FillForm({
  number,
  onFill,
}: {
  readonly number: number;
  readonly onFill: (text: string) => void;
}) {
  const [text, setText] = useState("");
  const words = bulkTexts.grid;
  return (
    <form
      className="bulk-fill grow"
      onSubmit={(event) => {
        event.preventDefault();
        onFill(text);
        setText("");
      }}
    >
      <label>
        {words.fill(number)}
        <textarea
          rows={1}
          dir="auto"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      <button type="submit" disabled={text.trim() === ""}>
        {words.copyTo}
      </button>
    </form>
  );
}

export default ColumnsGridPage;
