// What the graph shows instead of the surroundings, and what it leaves out.

import { EntityLink } from "../components/common.tsx";
import { FormattedText } from "../components/formatted_text.tsx";
import { ErrorMessage, type ReadState } from "../components/states.tsx";
import { readablePath } from "../dataset/field_path.ts";
import { lineageTexts } from "../lineage_texts.ts";
import { columnOf, type About } from "./about.ts";
import type { Direction, Graph } from "./graph.ts";
import { MAX_NODES } from "./graph.ts";
import type { Trace } from "./lineage.tsx";
import { MAX_NEIGHBORS } from "./loading.ts";
import type { ChangeState } from "./toolbar.tsx";

/** Notices of single entities; the others are counted. */
const MAX_NOTICES = 3;

/** Which column is traced. */
export function ColumnNotice({
  column,
  about,
  trace,
  change,
}: {
  readonly column: string;
  readonly about: (urn: string) => About;
  readonly trace: Trace;
  readonly change: ChangeState;
}) {
  const words = lineageTexts.columns;
  const { table = "", path = column } = columnOf(column) ?? {};
  return (
    <div className="lineage-notice">
      <p role="status">
        <FormattedText
          text={trace.graph === undefined ? words.none : words.of}
          values={{
            column: <code>{readablePath(path)}</code>,
            table: <EntityLink entity={{ urn: table, name: about(table).name }} />,
          }}
        />{" "}
        {trace.shown < trace.total && words.cut(trace.shown, trace.total)}
      </p>
      <button type="button" onClick={() => change({ column: null })}>
        {words.leave}
      </button>
      {trace.read.error !== null && <ErrorMessage error={trace.read.error} />}
    </div>
  );
}

/** Between which entities the shown paths lead. */
export function PathNotice({
  from,
  to,
  read,
  isFound,
  change,
}: {
  readonly from: string;
  readonly to: string;
  readonly read: ReadState;
  readonly isFound: boolean;
  readonly change: ChangeState;
}) {
  const words = lineageTexts.path;
  return (
    <div className="lineage-notice">
      {read.error === null ? (
        <p role="status">
          <FormattedText
            text={isFound ? words.between : words.none}
            values={{ from: <strong>{from}</strong>, to: <strong>{to}</strong> }}
          />
        </p>
      ) : (
        <ErrorMessage error={read.error} retry={() => void read.refetch()} />
      )}
      <button type="button" onClick={() => change({ from: null, to: null })}>
        {words.leave}
      </button>
    </div>
  );
}

/** Tells which entities have neighbors that are not shown. */
export function CutNotices({
  graph,
  about,
  change,
  onExpand,
}: {
  readonly graph: Graph;
  readonly about: (urn: string) => About;
  readonly change: ChangeState;
  readonly onExpand: (urn: string, direction: Direction) => void;
}) {
  const words = lineageTexts;
  const toImpact = (
    <button type="button" className="subtle" onClick={() => change({ view: "impact" })}>
      {words.views.impact}
    </button>
  );
  return (
    <ul className="lineage-cuts">
      {graph.cuts.slice(0, MAX_NOTICES).map(({ urn, direction, shown, total }) => (
        <li key={`${direction} ${urn}`}>
          {words.cut(shown, total, about(urn).name, direction)}{" "}
          {shown < MAX_NEIGHBORS && !graph.isFull ? (
            <button type="button" className="subtle" onClick={() => onExpand(urn, direction)}>
              {words.showMore}
            </button>
          ) : (
            <>
              {words.atLimit} {toImpact}
            </>
          )}
        </li>
      ))}
      {graph.cuts.length > MAX_NOTICES && (
        <li>{words.moreCuts(graph.cuts.length - MAX_NOTICES)}</li>
      )}
      {graph.isFull && (
        <li>
          {words.full(MAX_NODES)} {toImpact}
        </li>
      )}
    </ul>
  );
}
