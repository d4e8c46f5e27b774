// Plots of values over time. Each is also a table, for screen readers.

import type { ReactNode } from "react";

import { trustTexts } from "../trust_texts.ts";
import { texts } from "../texts.ts";
import { formatDate } from "../time.ts";

export interface Point {
  readonly time: number;
  readonly value: number;
}

interface PlotProperties {
  /** Oldest first. */
  readonly points: readonly Point[];
  readonly caption: string;
  readonly format?: (value: number) => string;
  readonly formatTime?: (time: number) => string;
}

const WIDTH = 600;
const HEIGHT = 120;

/** A bar for each point, from zero. */
export function TimeBars({
  points,
  caption,
  format = texts.number,
  formatTime = formatDate,
}: PlotProperties) {
  const maximum = Math.max(1, ...points.map(({ value }) => value));
  const width = WIDTH / Math.max(1, points.length);
  return (
    <figure className="plot">
      <figcaption>{caption}</figcaption>
      <Scale top={format(maximum)} bottom={format(0)}>
        {points.map(({ time, value }, index) => {
          const height = value === 0 ? 0 : Math.max(2, (HEIGHT * value) / maximum);
          return (
            <g key={time}>
              {/* As high as the plot, so that low bars can be pointed at. */}
              <rect className="plot-hit" x={index * width} width={width} height={HEIGHT}>
                <title>{`${formatTime(time)}: ${format(value)}`}</title>
              </rect>
              <rect
                className="bar plot-bar"
                x={index * width + width * 0.1}
                width={width * 0.8}
                y={HEIGHT - height}
                height={height}
              />
            </g>
          );
        })}
      </Scale>
      <Ends points={points} formatTime={formatTime} />
      <PointTable points={points} caption={caption} format={format} formatTime={formatTime} />
    </figure>
  );
}

/** A line through the points. It does not start at zero, which would hide growth. */
export function TimeLine({
  points,
  caption,
  format = texts.number,
  formatTime = formatDate,
}: PlotProperties) {
  const values = points.map(({ value }) => value);
  const lowest = Math.min(...values);
  const highest = Math.max(...values);
  // A constant is a line in the middle.
  const margin = highest === lowest ? 1 : (highest - lowest) * 0.1;
  const first = points[0]?.time ?? 0;
  const duration = Math.max(1, (points.at(-1)?.time ?? 0) - first);
  const x = ({ time }: Point) => ((time - first) / duration) * WIDTH;
  const y = ({ value }: Point) =>
    HEIGHT * (1 - (value - lowest + margin) / (highest - lowest + 2 * margin));
  return (
    <figure className="plot">
      <figcaption>{caption}</figcaption>
      <Scale top={format(highest)} bottom={highest === lowest ? "" : format(lowest)}>
        <polyline
          className="plot-line"
          points={points.map((point) => `${x(point)},${y(point)}`).join(" ")}
        />
        {points.map((point) => (
          <rect
            key={point.time}
            className="plot-hit"
            x={x(point) - WIDTH / points.length / 2}
            width={WIDTH / points.length}
            height={HEIGHT}
          >
            <title>{`${formatTime(point.time)}: ${format(point.value)}`}</title>
          </rect>
        ))}
      </Scale>
      <Ends points={points} formatTime={formatTime} />
      <PointTable points={points} caption={caption} format={format} formatTime={formatTime} />
    </figure>
  );
}

function Scale({
  top,
  bottom,
  children,
}: {
  readonly top: string;
  readonly bottom: string;
  readonly children: ReactNode;
}) {
  return (
    <div className="plot-area" aria-hidden="true">
      <div className="plot-scale">
        <span>{top}</span>
        <span>{bottom}</span>
      </div>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none">
        {children}
      </svg>
    </div>
  );
}

function Ends({ points, formatTime }: Required<Pick<PlotProperties, "points" | "formatTime">>) {
  const first = points[0];
  const last = points.at(-1);
  if (first === undefined || last === undefined) return null;
  return (
    <div className="plot-ends" aria-hidden="true">
      <span>{formatTime(first.time)}</span>
      {last !== first && <span>{formatTime(last.time)}</span>}
    </div>
  );
}

function PointTable({ points, caption, format, formatTime }: Required<PlotProperties>) {
  return (
    <div className="visually-hidden">
      <table>
        <caption>{caption}</caption>
        <tbody>
          {points.map(({ time, value }) => (
            <tr key={time}>
              <th scope="row">{formatTime(time)}</th>
              <td>{format(value)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A share as a small bar with its number, and what it is a share of if no table says so. */
export function ShareBar({
  share,
  title,
  label,
}: {
  readonly share: number;
  readonly title: string;
  readonly label?: string;
}) {
  return (
    <span className="share" title={title}>
      {label !== undefined && <span className="visually-hidden">{label}</span>}
      <span className="share-bar" aria-hidden="true">
        <span style={{ inlineSize: `${Math.min(100, Math.max(0, share * 100))}%` }} />
      </span>
      <span className="share-number">{trustTexts.percent(share)}</span>
    </span>
  );
}
