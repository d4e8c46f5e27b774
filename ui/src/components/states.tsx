import { useEffect, useRef, useState, type ReactNode } from "react";

import { texts } from "../texts.ts";
import { Sentence } from "./sentence.tsx";

/** Waiting that is over within this time is not shown at all. */
const QUIET_MS = 150;

/** Since when the reader has been waiting, as long as anything is waited for. */
let waitingSince: number | null = null;

/** Whether the reader has been waiting for longer than people notice. */
function useLongWait(): boolean {
  // A part of the page that had to be fetched waits for what it shows: that is one wait for whoever looks at it, so
  // the second neither begins in silence again nor takes lines away that were there.
  const [since] = useState(() => waitingSince ?? performance.now());
  const [isLong, setLong] = useState(() => performance.now() - since >= QUIET_MS);
  useEffect(() => {
    waitingSince = since;
    // Whole milliseconds, since a timer drops what a sum of fractions is short of.
    const left = Math.round(since + QUIET_MS - performance.now());
    if (left <= 0) setLong(true);
    const timer = setTimeout(() => setLong(true), left);
    return () => {
      waitingSince = null;
      clearTimeout(timer);
    };
  }, [since]);
  return isLong;
}

/** Grey lines in place of text that is not there yet; nothing at all at first. */
export function Skeleton({ lines = 4 }: { readonly lines?: number }) {
  const isLong = useLongWait();
  if (!isLong) return <div className="skeleton" aria-busy="true" />;
  return (
    <div className="skeleton" aria-busy="true" aria-live="polite">
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} className="skeleton-line" />
      ))}
    </div>
  );
}

interface EmptyProperties {
  readonly title: string;
  readonly hint?: ReactNode;
  /** Whether it is all that the page has. */
  readonly isPage?: boolean;
  readonly children?: ReactNode;
}

/** What there is to say when there is nothing to show, and what to do about it. */
export function Empty({ title, hint, isPage, children }: EmptyProperties) {
  return (
    <div className="empty">
      {isPage === true ? <h1>{title}</h1> : <p className="empty-title">{title}</p>}
      {hint !== undefined && <p>{hint}</p>}
      {children}
    </div>
  );
}

/** What to do with a catalog in which there is nothing yet. */
export function FirstSteps() {
  return <Sentence text={texts.search.nothingYetHint} parts={{ option: <code>--demo</code> }} />;
}

/** An error in words, with a way on. */
export function Problem({ error, retry }: { readonly error: Error; readonly retry?: () => void }) {
  return (
    <div className="problem" role="alert">
      <p>{error.message}</p>
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          {texts.errors.retry}
        </button>
      )}
    </div>
  );
}

/** How the reading of something goes, as the cache says it. */
export interface Reading {
  readonly isLoadingError: boolean;
  readonly isRefetchError: boolean;
  readonly error: Error | null;
  readonly refetch: () => unknown;
}

/** Several readings as one: what is wrong with any of them is said once, and all are tried again. */
export function together(...readings: readonly Reading[]): Reading {
  return {
    isLoadingError: readings.some((read) => read.isLoadingError),
    isRefetchError: readings.some((read) => read.isRefetchError),
    error: readings.find((read) => read.error !== null)?.error ?? null,
    refetch: () => Promise.all(readings.map((read) => read.refetch())),
  };
}

/** Stands in the place of what is not there yet: grey lines, or why it will not come. */
export function Awaited({ read, lines }: { readonly read: Reading; readonly lines?: number }) {
  if (read.error !== null) return <Problem error={read.error} retry={() => void read.refetch()} />;
  return <Skeleton {...(lines === undefined ? {} : { lines })} />;
}

/** Says that what is shown could not be read again, and leaves it there. */
export function Outdated({ read }: { readonly read: Reading }) {
  if (!read.isRefetchError || read.error === null) return null;
  return (
    <p className="notice" role="status">
      {texts.errors.outdated(read.error.message)}{" "}
      <button type="button" className="quiet" onClick={() => void read.refetch()}>
        {texts.errors.retry}
      </button>
    </p>
  );
}

/** Says that what is shown is no longer in the catalog. */
export function Gone({ notice }: { readonly notice: string }) {
  return (
    <p className="notice" role="status">
      {notice}
    </p>
  );
}

/** What was there last, also when it is gone: whoever reads it or writes about it must not have it taken away. */
export function useLastSeen<Thing>(thing: Thing | null | undefined): Thing | undefined {
  const last = useRef<Thing | undefined>(undefined);
  if (thing !== null && thing !== undefined) last.current = thing;
  return last.current;
}

/** Sets the title of the window as long as the page is shown. */
export function useTitle(title: string | undefined): void {
  useEffect(() => {
    if (title === undefined) return;
    document.title = texts.title(title);
    announce(title);
  }, [title]);
}

const ARRIVAL = "arrival";
let isFirstPage = true;

/** Says to whoever does not see it that another page is there. Of the first one the browser tells. */
function announce(title: string): void {
  const place = document.getElementById(ARRIVAL);
  if (place !== null && !isFirstPage) place.textContent = title;
  isFirstPage = false;
}

/** Where arriving on a page is said. */
export function Arrival() {
  return <div id={ARRIVAL} className="hidden" aria-live="polite" />;
}
