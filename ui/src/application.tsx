import { lazy, type ComponentType } from "react";
import { Redirect, Route, Router, Switch, type AroundNavHandler } from "wouter";

import * as addresses from "./addresses.ts";
import { useMe } from "./api/cache.ts";
import { useSessionExpired } from "./api/session.ts";
import { ErrorBoundary, PageBoundary } from "./components/error_boundary.tsx";
import { focusNewPage } from "./components/focus.ts";
import { loadChunk } from "./components/chunks.ts";
import { ErrorMessage, Skeleton } from "./components/states.tsx";
import { confirmNavigation, currentPath, useAddress } from "./location.ts";
import { Home } from "./pages/home.tsx";
import { NotFound } from "./pages/not_found.tsx";
import { SearchPage } from "./pages/search.tsx";
import { SignIn, SessionExpiredDialog } from "./pages/sign_in.tsx";
import { Shell } from "./shell.tsx";

// Loaded on demand, to keep the first load small.
const DatasetPage = lazy(() => loadChunk(import("./pages/dataset.tsx")));
const EntityPage = lazy(() => loadChunk(import("./pages/entity.tsx")));
const DomainsPage = lazy(() => loadChunk(import("./pages/domains.tsx")));
const DomainPage = lazy(() => loadChunk(import("./pages/domain.tsx")));
const ProposalsPage = lazy(() => loadChunk(import("./pages/proposals.tsx")));
const SettingsPage = lazy(() => loadChunk(import("./pages/settings.tsx")));
const SignUp = lazy(async () => ({ default: (await links()).SignUp }));
const ResetPassword = lazy(async () => ({ default: (await links()).ResetPassword }));
const AcceptInvitation = lazy(async () => ({ default: (await links()).AcceptInvitation }));
const ExplorerPage = lazy(() => loadChunk(import("./pages/explorer.tsx")));

const links = () => import("./pages/links.tsx");

/** Of entities with the common page. */
const ENTITY_SEGMENTS = [
  "tag",
  "glossaryTerm",
  "glossaryNode",
  "user",
  "group",
  "container",
  "dashboard",
  "chart",
  "pipelines",
  "tasks",
  "dataProduct",
  "platform",
];

export function Application() {
  return (
    <ErrorBoundary isFullPage>
      <Router hook={useAddress} aroundNav={navigateWithFocus}>
        <AuthenticatedPages />
      </Router>
    </ErrorBoundary>
  );
}

/** Scrolls to the top and moves the focus when the page changes. Scroll positions on Back are
 *  restored elsewhere. */
const navigateWithFocus: AroundNavHandler = (navigate, to, options) => {
  if (options?.state === addresses.SAME_PAGE) {
    navigate(to, options);
    return;
  }
  confirmNavigation(to, () => {
    navigate(to, options);
    window.scrollTo(0, 0);
    focusNewPage();
  });
};

/** Shows the sign-in page to unauthenticated users, at the requested address. If the session
 *  expires or the server becomes unreachable later, the current page stays: it may contain unsaved
 *  text. */
function AuthenticatedPages() {
  const me = useMe();
  const isExpired = useSessionExpired();
  if (me.isPending) return <Skeleton lines={0} />;
  if (me.isLoadingError) {
    return (
      <main className="page">
        <ErrorMessage error={me.error} retry={() => void me.refetch()} />
      </main>
    );
  }
  if (me.data === null) {
    return (
      <PageBoundary>
        <Switch>
          <Route path="/signup" component={SignUp} />
          <Route path="/reset" component={ResetPassword} />
          <Route component={SignIn} />
        </Switch>
      </PageBoundary>
    );
  }
  return (
    <Shell>
      {isExpired && <SessionExpiredDialog />}
      <PageBoundary>
        <Switch>
          <Route path="/" component={Home} />
          <Route path="/login">
            <Redirect to={addresses.home} replace />
          </Route>
          <Route path="/signup" component={AcceptInvitation} />
          <Route path="/reset" component={ResetPassword} />
          <Route path="/search" component={SearchPage} />
          <Route path="/dataset/*">{() => <EntityRoute page={DatasetPage} />}</Route>
          <Route path="/domains" component={DomainsPage} />
          <Route path="/domain/*">{() => <EntityRoute page={DomainPage} />}</Route>
          {ENTITY_SEGMENTS.map((segment) => (
            <Route key={segment} path={`/${segment}/*`}>
              {() => <EntityRoute page={EntityPage} />}
            </Route>
          ))}
          <Route path="/proposals" component={ProposalsPage} />
          <Route path="/settings">
            <SettingsPage section="tokens" />
          </Route>
          <Route path="/settings/:section">
            {(parameters) => <SettingsPage section={parameters.section} />}
          </Route>
          <Route path="/graphiql" component={ExplorerPage} />
          <Route component={NotFound} />
        </Switch>
      </PageBoundary>
    </Shell>
  );
}

/** Keyed by URN, so that the state of one entity's page never carries over to another's. */
function EntityRoute({ page: Page }: { readonly page: ComponentType<{ readonly urn: string }> }) {
  const urn = urnFromAddress();
  return <Page key={urn} urn={urn} />;
}

/**
 * Reads the URN from the address. The router leaves reserved characters such as `%2F` encoded, so
 * this decodes the path itself. DataHub's addresses may end with a tab name, which is ignored:
 * `/dataset/urn:…/Schema`.
 */
function urnFromAddress(): string {
  const [, , ...segments] = currentPath().split("/");
  const whole = decodeOrRaw(segments.join("/"));
  if (!/^urn:li:\w+:\(/.test(whole)) return decodeOrRaw(segments[0] ?? "");
  return whole.slice(0, whole.lastIndexOf(")") + 1) || whole;
}

/** Falls back to the raw text when it is not valid percent-encoding. */
function decodeOrRaw(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
