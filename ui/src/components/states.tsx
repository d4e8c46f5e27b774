// Loading, empty, error and stale states, and page titles.

import { useEffect, useRef, useState, type ReactNode } from "react";

import { isUnauthenticated, mayPass } from "../api/client.ts";
import { useSessionExpired } from "../api/session.ts";
import { sentence } from "../text_forms.ts";
import { texts } from "../texts.ts";
import { FormattedText } from "./formatted_text.tsx";

/** Loads that finish within this time show no skeleton. */
const SKELETON_DELAY_MS = 150;

/** When the current load started, or `null`. */
let loadingSince: number | null = null;

/** Whether the load has lasted long enough to show a skeleton. */
function useSlowLoad(): boolean {
  // A page whose code was loaded then loads its data. Users see that as one load, so the delay does
  // not start again and visible lines do not disappear in between.
  const [since] = useState(() => loadingSince ?? performance.now());
  const [isSlow, setSlow] = useState(() => performance.now() - since >= SKELETON_DELAY_MS);
  useEffect(() => {
    loadingSince = since;
    // Rounded, because timers truncate fractions of a millisecond and would fire too early.
    const left = Math.round(since + SKELETON_DELAY_MS - performance.now());
    if (left <= 0) setSlow(true);
    const timer = setTimeout(() => setSlow(true), left);
    return () => {
      loadingSince = null;
      clearTimeout(timer);
    };
  }, [since]);
  return isSlow;
}

/** Placeholder lines while content loads; shows nothing at first. */
export function Skeleton({ lines = 4 }: { readonly lines?: number }) {
  const isSlow = useSlowLoad();
  if (!isSlow) return <div className="skeleton" aria-busy="true" />;
  return (
    <div className="skeleton" aria-busy="true" aria-live="polite">
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} className="skeleton-line" />
      ))}
    </div>
  );
}

interface EmptyStateProperties {
  readonly title: string;
  readonly hint?: ReactNode;
  /** Whether it is the whole page, which needs a level-one heading. */
  readonly isPage?: boolean;
  readonly children?: ReactNode;
}

/** Explains why there is nothing to show and what to do about it. */
export function EmptyState({ title, hint, isPage, children }: EmptyStateProperties) {
  return (
    <div className="empty-state">
      {isPage === true ? <h1>{title}</h1> : <p className="empty-title">{title}</p>}
      {hint !== undefined && <p>{hint}</p>}
      {children}
    </div>
  );
}

/** What to do with an empty catalog. */
export function GettingStarted() {
  return (
    <FormattedText text={texts.search.emptyCatalogHint} values={{ option: <code>--demo</code> }} />
  );
}

/** An error with an optional retry button, unless a retry can't help. That the session expired is no longer shown once the user
 *  has signed in again. */
export function ErrorMessage({
  error,
  retry,
}: {
  readonly error: Error;
  readonly retry?: () => void;
}) {
  const isExpired = useSessionExpired();
  if (isUnauthenticated(error) && !isExpired) return null;
  return (
    <div className="error-message" role="alert">
      <p>{sentence(error.message)}</p>
      {retry !== undefined && mayPass(error) && (
        <button type="button" onClick={retry}>
          {texts.errors.retry}
        </button>
      )}
    </div>
  );
}

/** The state of a query. */
export interface ReadState {
  readonly isLoadingError: boolean;
  readonly isRefetchError: boolean;
  readonly error: Error | null;
  readonly refetch: () => unknown;
}

/** Combines queries, so that an error is shown once and a retry repeats all of them. */
export function combineReads(...reads: readonly ReadState[]): ReadState {
  return {
    isLoadingError: reads.some((read) => read.isLoadingError),
    isRefetchError: reads.some((read) => read.isRefetchError),
    error: reads.find((read) => read.error !== null)?.error ?? null,
    refetch: () => Promise.all(reads.map((read) => read.refetch())),
  };
}

/** Replaces content that has not loaded yet: a skeleton, or the error. */
export function LoadingOrError({
  read,
  lines,
}: {
  readonly read: ReadState;
  readonly lines?: number;
}) {
  if (read.error !== null)
    return <ErrorMessage error={read.error} retry={() => void read.refetch()} />;
  return <Skeleton {...(lines === undefined ? {} : { lines })} />;
}

/** Tells the user that a refresh failed and the page shows old data. */
export function StaleNotice({ read }: { readonly read: ReadState }) {
  if (!read.isRefetchError || read.error === null) return null;
  return (
    <p className="notice" role="status">
      {texts.errors.stale(read.error.message)}
      {mayPass(read.error) && (
        <>
          {" "}
          <button type="button" className="subtle" onClick={() => void read.refetch()}>
            {texts.errors.retry}
          </button>
        </>
      )}
    </p>
  );
}

/** Tells the user that the entity on the page has been deleted. */
export function DeletedNotice({ notice }: { readonly notice: string }) {
  return (
    <p className="notice" role="status">
      {notice}
    </p>
  );
}

/** Returns the last known value. Keeps a page usable, with its unsaved text, after the entity has
 *  been deleted. */
export function useLastKnown<Value>(value: Value | null | undefined): Value | undefined {
  const last = useRef<Value | undefined>(undefined);
  if (value !== null && value !== undefined) last.current = value;
  return last.current;
}

/** Sets the document title and announces it. */
export function useTitle(title: string | undefined): void {
  useEffect(() => {
    if (title === undefined) return;
    document.title = texts.title(title);
    announce(title);
  }, [title]);
}

const ANNOUNCER_ID = "page-announcer";
let isFirstPage = true;

/** Announces a new page to screen readers. The browser announces the first one. */
function announce(title: string): void {
  const announcer = document.getElementById(ANNOUNCER_ID);
  if (announcer !== null && !isFirstPage) announcer.textContent = title;
  isFirstPage = false;
}

/** The live region for page announcements. */
export function PageAnnouncer() {
  return <div id={ANNOUNCER_ID} className="visually-hidden" aria-live="polite" />;
}
