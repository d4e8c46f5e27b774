import { texts } from "./texts.ts";

const date = new Intl.DateTimeFormat(texts.locale, { dateStyle: "medium" });
const dateAndTime = new Intl.DateTimeFormat(texts.locale, { dateStyle: "medium", timeStyle: "short" });
const relative = new Intl.RelativeTimeFormat(texts.locale, { numeric: "auto" });

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const dayOf = (time: number) => date.format(time);
export const momentOf = (time: number) => dateAndTime.format(time);

/** How long ago, as long as that says more than the date. */
export function agoOf(time: number, now = Date.now()): string {
  const ago = now - time;
  if (Math.abs(ago) < MINUTE) return relative.format(0, "minute");
  if (Math.abs(ago) < HOUR) return relative.format(-Math.round(ago / MINUTE), "minute");
  if (Math.abs(ago) < DAY) return relative.format(-Math.round(ago / HOUR), "hour");
  if (Math.abs(ago) < 14 * DAY) return relative.format(-Math.round(ago / DAY), "day");
  return dayOf(time);
}
