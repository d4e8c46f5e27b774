import { EntityLink } from "../components/common.tsx";
import { readablePath } from "../dataset/field_path.ts";
import { lineageTexts } from "../lineage_texts.ts";
import { texts } from "../texts.ts";
import { columnOf, type About } from "./about.ts";
import type { Expanders } from "./card.tsx";
import type { ColumnEdges } from "./edges.tsx";
import { DIRECTIONS, neighborsIn, type Direction, type Graph } from "./graph.ts";

/** Names in one line; the others are counted. */
const MAX_NAMES = 5;

interface ListProperties {
  readonly graph: Graph;
  readonly start: string;
  readonly about: (urn: string) => About;
  readonly matches: ReadonlySet<string> | undefined;
  readonly columns: ColumnEdges | undefined;
  readonly expanders: ReadonlyMap<string, Expanders> | undefined;
  readonly onExpand: (urn: string, direction: Direction) => void;
}

/** The graph as lists by distance: for screen readers, small screens and those who prefer text. */
export function LineageList({ graph, start, ...properties }: ListProperties) {
  const words = lineageTexts.list;
  const levels = [...new Set(graph.nodes.values())].sort((one, other) => one - other);
  return (
    <div className="lineage-list">
      {levels.map((level) => (
        <section key={level} aria-labelledby={`lineage-level-${level}`}>
          <h3 id={`lineage-level-${level}`}>
            {level === 0
              ? words.start
              : words[level < 0 ? "upstream" : "downstream"](Math.abs(level))}
          </h3>
          <ul>
            {[...graph.nodes]
              .filter(([urn, at]) => at === level && isShown(urn, start, properties.matches))
              .map(([urn]) => (
                <Entry key={urn} urn={urn} graph={graph} {...properties} />
              ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

const isShown = (urn: string, start: string, matches: ReadonlySet<string> | undefined) =>
  urn === start || matches === undefined || matches.has(urn);

interface EntryProperties extends Omit<ListProperties, "start"> {
  readonly urn: string;
}

function Entry({ urn, graph, about, columns, expanders, onExpand }: EntryProperties) {
  const words = lineageTexts;
  const { name, kind, platform, location, isDeprecated, isRestricted } = about(urn);
  const details = [kind, platform, location].filter((text) => text !== "");
  const expander = expanders?.get(urn);
  const names = (direction: Direction) => namesOf(neighborsIn(graph, urn, direction), about);
  const [from, to] = [names("upstream"), names("downstream")];
  return (
    <li>
      <p>
        {isRestricted ? name : <EntityLink entity={{ urn, name }} />}{" "}
        <span className="hint">
          {details.join(" · ")}
          {isDeprecated && <span className="warning"> {texts.dataset.deprecated}</span>}
        </span>
      </p>
      {columns?.columns.get(urn) !== undefined && (
        <p className="lineage-list-columns">
          {columns.columns.get(urn)?.map((column) => (
            <code key={column}>{readablePath(columnOf(column)?.path ?? column)}</code>
          ))}
        </p>
      )}
      {from !== "" && <p className="hint">{words.list.from(from)}</p>}
      {to !== "" && <p className="hint">{words.list.feeds(to)}</p>}
      {expander !== undefined &&
        DIRECTIONS.map((direction) => {
          const { hidden, isExpanded } = expander[direction];
          if (hidden === 0 && !isExpanded) return null;
          return (
            <button
              key={direction}
              type="button"
              className="subtle"
              onClick={() => onExpand(urn, direction)}
            >
              {hidden > 0 ? words.expand[direction](hidden, name) : words.collapse[direction](name)}
            </button>
          );
        })}
    </li>
  );
}

function namesOf(urns: readonly string[], about: (urn: string) => About): string {
  if (urns.length === 0) return "";
  const names = urns.slice(0, MAX_NAMES).map((urn) => about(urn).name);
  const rest = urns.length - names.length;
  return texts.list(rest > 0 ? [...names, lineageTexts.list.more(rest)] : names);
}
