import { texts } from "./texts.ts";

const date = new Intl.DateTimeFormat(texts.locale, { dateStyle: "medium" });
const dateAndTime = new Intl.DateTimeFormat(texts.locale, {
  dateStyle: "medium",
  timeStyle: "short",
});
const relative = new Intl.RelativeTimeFormat(texts.locale, { numeric: "auto" });

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const formatDate = (time: number) => date.format(time);
export const formatDateTime = (time: number) => dateAndTime.format(time);

/** Formats recent times relative to now and older ones as a date. */
export function formatRelative(time: number, now = Date.now()): string {
  const ago = now - time;
  if (Math.abs(ago) < MINUTE) return texts.common.justNow;
  if (Math.abs(ago) < HOUR) return relative.format(-Math.trunc(ago / MINUTE), "minute");
  if (Math.abs(ago) < DAY) return relative.format(-Math.trunc(ago / HOUR), "hour");
  if (Math.abs(ago) < 14 * DAY) return relative.format(-Math.trunc(ago / DAY), "day");
  return formatDate(time);
}
