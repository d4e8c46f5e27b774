import { lazy, type ComponentType } from "react";
import { Redirect, Route, Router, Switch, type AroundNavHandler } from "wouter";

import * as addresses from "./addresses.ts";
import { useMe } from "./api/cache.ts";
import { useSessionLost } from "./api/session.ts";
import { Boundary, Parts } from "./components/boundary.tsx";
import { focusNextPage } from "./components/focus.ts";
import { loaded } from "./components/loading.ts";
import { Problem, Skeleton } from "./components/states.tsx";
import { goTo, shownPath, useAddress } from "./location.ts";
import { Home } from "./pages/home.tsx";
import { NotFound } from "./pages/not_found.tsx";
import { SearchPage } from "./pages/search.tsx";
import { SignIn, SignInAgain } from "./pages/sign_in.tsx";
import { Shell } from "./shell.tsx";

// What not everybody needs is loaded when it is first opened.
const DatasetPage = lazy(() => loaded(import("./pages/dataset.tsx")));
const DomainsPage = lazy(() => loaded(import("./pages/domains.tsx")));
const DomainPage = lazy(() => loaded(import("./pages/domain.tsx")));
const SettingsPage = lazy(() => loaded(import("./pages/settings.tsx")));
const ExplorerPage = lazy(() => loaded(import("./pages/explorer.tsx")));

export function Application() {
  return (
    <Boundary isWhole>
      <Router hook={useAddress} aroundNav={go}>
        <WithPerson />
      </Router>
    </Boundary>
  );
}

/** Another address is another page, which is read from its top, by the keyboard too. Going back is left to the browser, which knows where one was. */
const go: AroundNavHandler = (navigate, to, options) => {
  if (options?.state === addresses.STAYS) {
    navigate(to, options);
    return;
  }
  goTo(to, () => {
    navigate(to, options);
    window.scrollTo(0, 0);
    focusNextPage();
  });
};

/** Nothing is shown to a stranger but the way in. The address stays, so signing in leads to where one wanted to go. Whoever
 *  is there and loses the session, or the way to the server, keeps what is shown: it may hold text that is not saved. */
function WithPerson() {
  const me = useMe();
  const isLost = useSessionLost();
  if (me.isPending) return <Skeleton lines={0} />;
  if (me.isLoadingError) {
    return (
      <main className="page">
        <Problem error={me.error} retry={() => void me.refetch()} />
      </main>
    );
  }
  if (me.data === null) return <SignIn />;
  return (
    <Shell>
      {isLost && <SignInAgain />}
      <Parts>
        <Switch>
          <Route path="/" component={Home} />
          <Route path="/login">
            <Redirect to={addresses.home} replace />
          </Route>
          <Route path="/search" component={SearchPage} />
          <Route path="/dataset/*">{() => <WithUrn page={DatasetPage} />}</Route>
          <Route path="/domains" component={DomainsPage} />
          <Route path="/domain/*">{() => <WithUrn page={DomainPage} />}</Route>
          <Route path="/settings">
            <SettingsPage section="tokens" />
          </Route>
          <Route path="/settings/:section">{(parameters) => <SettingsPage section={parameters.section} />}</Route>
          <Route path="/graphiql" component={ExplorerPage} />
          <Route component={NotFound} />
        </Switch>
      </Parts>
    </Shell>
  );
}

/** What was begun on one entity's page must not go on on another's, so each has its own. */
function WithUrn({ page: Page }: { readonly page: ComponentType<{ readonly urn: string }> }) {
  const urn = urnInAddress();
  return <Page key={urn} urn={urn} />;
}

/**
 * The URN in the address. The router decodes an address as a whole, which leaves `%2F` and its kin as they are, so it is
 * read from the address itself. Addresses of DataHub's page may name a section behind it: `/dataset/urn:…/Schema`.
 */
function urnInAddress(): string {
  const [, , ...steps] = shownPath().split("/");
  const whole = decoded(steps.join("/"));
  if (!whole.startsWith("urn:li:dataset:(")) return decoded(steps[0] ?? "");
  return whole.slice(0, whole.lastIndexOf(")") + 1) || whole;
}

/** What is not encoded as it should be is taken as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
