import { lazy, useLayoutEffect, type ComponentType } from "react";
import {
  Redirect,
  Route,
  Router,
  Switch,
  useLocation,
  useSearch,
  type AroundNavHandler,
} from "wouter";

import * as addresses from "./addresses.ts";
import { useMe } from "./api/cache.ts";
import { useSessionExpired } from "./api/session.ts";
import { DiscardDialog } from "./components/discard_dialog.tsx";
import { ErrorBoundary, PageBoundary } from "./components/error_boundary.tsx";
import { focusNewPage } from "./components/focus.ts";
import { loadChunk } from "./components/chunks.ts";
import { ErrorMessage } from "./components/states.tsx";
import { fromDataHub } from "./datahub_addresses.ts";
import { confirmNavigation, currentPath, useAddress } from "./location.ts";
import { useRememberView } from "./home/recent_views.ts";
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
const ChangesPage = lazy(() => loadChunk(import("./pages/changes.tsx")));
const GlossaryPage = lazy(() => loadChunk(import("./pages/glossary.tsx")));
const TagsPage = lazy(() => loadChunk(import("./pages/tags.tsx")));
const UsersPage = lazy(async () => ({ default: (await people()).UsersPage }));
const GroupsPage = lazy(async () => ({ default: (await people()).GroupsPage }));
const PlatformsPage = lazy(() => loadChunk(import("./pages/platforms.tsx")));
const DataProductsPage = lazy(() => loadChunk(import("./pages/data_products.tsx")));
const ProposalsPage = lazy(() => loadChunk(import("./pages/proposals.tsx")));
const SettingsPage = lazy(() => loadChunk(import("./pages/settings.tsx")));
const SignUp = lazy(async () => ({ default: (await links()).SignUp }));
const ResetPassword = lazy(async () => ({ default: (await links()).ResetPassword }));
const AcceptInvitation = lazy(async () => ({ default: (await links()).AcceptInvitation }));
const ExplorerPage = lazy(() => loadChunk(import("./pages/explorer.tsx")));

const ColumnsGridPage = lazy(() => loadChunk(import("./pages/columns_grid.tsx")));
const CsvImportPage = lazy(() => loadChunk(import("./pages/csv_import.tsx")));

const links = () => import("./pages/links.tsx");
const people = () => loadChunk(import("./pages/people.tsx"));

export function Application() {
  return (
    <ErrorBoundary isFullPage>
      <Router hook={useAddress} aroundNav={navigateWithFocus}>
        <AuthenticatedPages />
        <DiscardDialog />
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
  // Until then, index.html shows the frame of a page.
  useLayoutEffect(() => {
    if (!me.isPending) document.getElementById("boot")?.remove();
  }, [me.isPending]);
  if (me.isPending) return null;
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
        <Pages />
      </PageBoundary>
    </Shell>
  );
}

function Pages() {
  const [path] = useLocation();
  const moved = fromDataHub(path, useSearch());
  if (moved !== null) return <Redirect to={moved} replace />;
  return (
    <Switch>
      <Route path="/" component={Home} />
      <Route path="/signup" component={AcceptInvitation} />
      <Route path="/reset" component={ResetPassword} />
      <Route path="/search" component={SearchPage} />
      <Route path="/dataset/*">{() => <EntityRoute page={DatasetPage} />}</Route>
      <Route path="/domains" component={DomainsPage} />
      <Route path="/domain/*">{() => <EntityRoute page={DomainPage} />}</Route>
      <Route path={addresses.glossary} component={GlossaryPage} />
      <Route path={addresses.tags} component={TagsPage} />
      <Route path={addresses.people} component={UsersPage} />
      <Route path={addresses.groups} component={GroupsPage} />
      <Route path={addresses.platforms} component={PlatformsPage} />
      <Route path={addresses.dataProducts} component={DataProductsPage} />
      {addresses.COMMON_SEGMENTS.map((segment) => (
        <Route key={segment} path={`/${segment}/*`}>
          {() => <EntityRoute page={EntityPage} />}
        </Route>
      ))}
      <Route path="/changes" component={ChangesPage} />
      <Route path="/bulk/columns" component={ColumnsGridPage} />
      <Route path="/bulk/csv" component={CsvImportPage} />
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
  );
}

/** Keyed by URN, so that the state of one entity's page never carries over to another's. */
function EntityRoute({ page: Page }: { readonly page: ComponentType<EntityPageProperties> }) {
  const { urn, tab } = entityFromAddress();
  useRememberView(urn);
  return <Page key={urn} urn={urn} tab={tab} />;
}

interface EntityPageProperties {
  readonly urn: string;
  /** The rest of the address, if it names a tab. */
  readonly tab?: string | undefined;
}

/**
 * Reads the URN and the tab from the address: `/dataset/urn:…/Lineage`. The router leaves reserved
 * characters such as `%2F` encoded, so this decodes the path itself.
 */
function entityFromAddress(): EntityPageProperties {
  const [, , ...segments] = currentPath().split("/");
  const whole = decodeOrRaw(segments.join("/"));
  const end = /^urn:li:\w+:\(/.test(whole) ? whole.lastIndexOf(")") + 1 : 0;
  if (end === 0) {
    const [urn = "", tab] = segments.map(decodeOrRaw);
    return { urn, tab };
  }
  return { urn: whole.slice(0, end), tab: whole.slice(end).split("/")[1] };
}

/** Falls back to the raw text when it is not valid percent-encoding. */
function decodeOrRaw(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
