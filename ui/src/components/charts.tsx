// Small charts. Each is also a table, for screen readers.

import type { ReactNode } from "react";
import { Link } from "wouter";

import { texts } from "../texts.ts";

export interface CoverageBar {
  readonly key: string;
  readonly label: ReactNode;
  readonly part: number;
  readonly whole: number;
  /** The numbers, abbreviated and exact. */
  readonly numbers: { readonly short: string; readonly exact: string };
}

/** A bar for each row, showing a part of a whole. */
export function CoverageBars({
  bars,
  caption,
}: {
  readonly bars: readonly CoverageBar[];
  readonly caption: string;
}) {
  return (
    <table className="coverage-bars">
      <caption className="visually-hidden">{caption}</caption>
      <tbody>
        {bars.map((bar) => (
          <tr key={bar.key}>
            <th scope="row">{bar.label}</th>
            <td className="coverage-bar" aria-hidden="true">
              <span
                style={{ inlineSize: `${bar.whole === 0 ? 0 : (100 * bar.part) / bar.whole}%` }}
              />
            </td>
            <td className="number" title={bar.numbers.exact}>
              {bar.numbers.short}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export interface Bar {
  readonly key: number;
  readonly label: string;
  readonly value: number;
  readonly title: string;
  /** What the bar leads to. */
  readonly address: string;
}

const HEIGHT = 48;

/** A bar chart. Heights grow with the square root, so that one large import does not flatten every
 *  other week. */
export function BarChart({
  bars,
  caption,
  onOpen,
}: {
  readonly bars: readonly Bar[];
  readonly caption: string;
  readonly onOpen: (address: string) => void;
}) {
  const maximum = Math.max(1, ...bars.map((bar) => bar.value));
  const width = 100 / Math.max(1, bars.length);
  return (
    <>
      <svg
        className="bars"
        viewBox={`0 0 100 ${HEIGHT}`}
        preserveAspectRatio="none"
        aria-hidden="true"
      >
        {bars.map((bar, index) => {
          const height = bar.value === 0 ? 1 : Math.max(2, HEIGHT * Math.sqrt(bar.value / maximum));
          return (
            // The keyboard reaches the links of the table.
            <g key={bar.key} className="bar-link" onClick={() => onOpen(bar.address)}>
              <title>{bar.title}</title>
              <rect className="bar-area" x={index * width} width={width} y={0} height={HEIGHT} />
              <rect
                className={bar.value === 0 ? "bar bar-empty" : "bar"}
                x={index * width + width * 0.12}
                width={width * 0.76}
                y={HEIGHT - height}
                height={height}
              />
            </g>
          );
        })}
      </svg>
      {/* Visible while one of its links has the focus. */}
      <div className="visually-hidden bars-table">
        <table>
          <caption>{caption}</caption>
          <tbody>
            {bars.map((bar) => (
              <tr key={bar.key}>
                <th scope="row">
                  <Link href={bar.address}>{bar.label}</Link>
                </th>
                <td>{texts.number(bar.value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
