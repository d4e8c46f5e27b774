// Small plots, for what people would rather look at than read. Each is a table for whoever cannot see it.

import type { ReactNode } from "react";

import { texts } from "../texts.ts";

export interface Share {
  readonly key: string;
  readonly label: ReactNode;
  readonly part: number;
  readonly whole: number;
  /** Both numbers, as there is room for them and in full. */
  readonly numbers: { readonly short: string; readonly exact: string };
}

/** Bars that say how much of each whole is there. */
export function Shares({ shares, caption }: { readonly shares: readonly Share[]; readonly caption: string }) {
  return (
    <table className="shares">
      <caption className="hidden">{caption}</caption>
      <tbody>
        {shares.map((share) => (
          <tr key={share.key}>
            <th scope="row">{share.label}</th>
            <td className="share-bar" aria-hidden="true">
              <span style={{ inlineSize: `${share.whole === 0 ? 0 : (100 * share.part) / share.whole}%` }} />
            </td>
            <td className="number" title={share.numbers.exact}>
              {share.numbers.short}
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
}

const HEIGHT = 48;

/** A row of columns, one for each stretch of time. Their heights grow with the square root, so that one large import does
 *  not flatten every other week to nothing. */
export function Bars({ bars, caption }: { readonly bars: readonly Bar[]; readonly caption: string }) {
  const most = Math.max(1, ...bars.map((bar) => bar.value));
  const width = 100 / Math.max(1, bars.length);
  return (
    <>
      <svg className="bars" viewBox={`0 0 100 ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {bars.map((bar, index) => {
          const height = bar.value === 0 ? 1 : Math.max(2, HEIGHT * Math.sqrt(bar.value / most));
          return (
            <rect
              key={bar.key}
              className={bar.value === 0 ? "bar bar-none" : "bar"}
              x={index * width + width * 0.12}
              width={width * 0.76}
              y={HEIGHT - height}
              height={height}
            >
              <title>{bar.title}</title>
            </rect>
          );
        })}
      </svg>
      <div className="hidden">
        <table>
          <caption>{caption}</caption>
          <tbody>
            {bars.map((bar) => (
              <tr key={bar.key}>
                <th scope="row">{bar.label}</th>
                <td>{texts.number(bar.value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
