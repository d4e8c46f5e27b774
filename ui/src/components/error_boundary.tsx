import { Component, Suspense, type ReactNode } from "react";
import { useLocation } from "wouter";

import { texts } from "../texts.ts";
import { ChunkLoadError } from "./chunks.ts";
import { EmptyState, Skeleton, useTitle } from "./states.tsx";

interface ErrorBoundaryProperties {
  /** Clears the error when it changes. */
  readonly location?: string;
  /** Whether it is outside the page frame. */
  readonly isFullPage?: boolean;
  readonly children: ReactNode;
}

/** Shows an error page instead of a blank window when rendering fails. */
export class ErrorBoundary extends Component<
  ErrorBoundaryProperties,
  { readonly error: Error | null }
> {
  override state: { readonly error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override componentDidUpdate(before: ErrorBoundaryProperties) {
    if (before.location !== this.props.location && this.state.error !== null)
      this.setState({ error: null });
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    const errorPage = <ErrorPage error={this.state.error} />;
    return this.props.isFullPage === true ? <main className="page">{errorPage}</main> : errorPage;
  }
}

/** Loads pages on demand. A page that fails leaves the navigation usable. */
export function PageBoundary({ children }: { readonly children: ReactNode }) {
  const [location] = useLocation();
  return (
    <ErrorBoundary location={location}>
      <Suspense fallback={<Skeleton />}>{children}</Suspense>
    </ErrorBoundary>
  );
}

function ErrorPage({ error }: { readonly error: Error }) {
  const message = messageFor(error);
  useTitle(message.title);
  return (
    <div role="alert">
      <EmptyState isPage title={message.title} hint={message.body}>
        <button type="button" onClick={() => window.location.reload()}>
          {texts.errors.reload}
        </button>
      </EmptyState>
    </div>
  );
}

function messageFor(error: Error): { readonly title: string; readonly body: string } {
  if (!(error instanceof ChunkLoadError)) return texts.errors.crashed;
  return error.isServerUp ? texts.errors.updated : texts.errors.unreachable;
}
