import { Component, Suspense, type ReactNode } from "react";
import { useLocation } from "wouter";

import { texts } from "../texts.ts";
import { NotLoaded } from "./loading.ts";
import { Empty, Skeleton, useTitle } from "./states.tsx";

interface BoundaryProperties {
  /** What stopped at one address may work at another. */
  readonly place?: string;
  /** Whether nothing stands around it. */
  readonly isWhole?: boolean;
  readonly children: ReactNode;
}

/** A defect in one page must not leave a white window. */
export class Boundary extends Component<BoundaryProperties, { readonly error: Error | null }> {
  override state: { readonly error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override componentDidUpdate(before: BoundaryProperties) {
    if (before.place !== this.props.place && this.state.error !== null) this.setState({ error: null });
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    const stopped = <Stopped error={this.state.error} />;
    return this.props.isWhole === true ? <main className="page">{stopped}</main> : stopped;
  }
}

/** Parts of the page that are fetched when they are opened. One that fails leaves the way to the others. */
export function Parts({ children }: { readonly children: ReactNode }) {
  const [place] = useLocation();
  return (
    <Boundary place={place}>
      <Suspense fallback={<Skeleton />}>{children}</Suspense>
    </Boundary>
  );
}

function Stopped({ error }: { readonly error: Error }) {
  const said = wordsFor(error);
  useTitle(said.title);
  return (
    <div role="alert">
      <Empty isPage title={said.title} hint={said.body}>
        <button type="button" onClick={() => window.location.reload()}>
          {texts.errors.reload}
        </button>
      </Empty>
    </div>
  );
}

function wordsFor(error: Error): { readonly title: string; readonly body: string } {
  if (!(error instanceof NotLoaded)) return texts.errors.crashed;
  return error.isAnswered ? texts.errors.updated : texts.errors.unreachable;
}
