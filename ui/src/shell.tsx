import { useEffect, useState, type ReactNode } from "react";
import { Link, useLocation } from "wouter";

import * as addresses from "./addresses.ts";
import { resetCache, useApiQuery, useMe } from "./api/cache.ts";
import { signOut } from "./api/client.ts";
import { setProposed, useProposed } from "./api/proposed.ts";
import { Menu } from "./components/menu.tsx";
import { SearchBox } from "./components/search_box.tsx";
import { PageAnnouncer, ErrorMessage } from "./components/states.tsx";
import { leave } from "./components/unsaved.ts";
import { useShortcuts } from "./components/shortcuts.ts";
import { ShortcutsDialog } from "./components/shortcuts_dialog.tsx";
import { ProposalsForMeDocument } from "./generated/operations.ts";
import { nameOf } from "./names.ts";
import { texts } from "./texts.ts";

/** The frame around every page: header with home link, search box, navigation and account menu. */
export function Shell({ children }: { readonly children: ReactNode }) {
  const [location, navigate] = useLocation();
  const [isHelpOpen, setHelpOpen] = useState(false);
  useShortcuts({
    "?": () => setHelpOpen(true),
    "g h": () => navigate(addresses.home),
    "g d": () => navigate(addresses.domains),
  });
  const isHome = location === addresses.home;
  return (
    <>
      <a className="skip-link" href="#content">
        {texts.shell.skip}
      </a>
      <header className="site-header">
        <Link href={addresses.home} className="brand" aria-label={texts.shell.home}>
          {texts.product}
        </Link>
        {isHome ? <span className="site-header-spacer" /> : <SearchBox />}
        <nav aria-label={texts.shell.navigation} className="site-nav">
          <TopLink href={addresses.domains}>{texts.shell.domains}</TopLink>
          <ProposalsLink />
          <TopLink href={addresses.explorer}>{texts.shell.explorer}</TopLink>
          <button
            type="button"
            className="subtle wide-only"
            onClick={() => setHelpOpen(true)}
            aria-label={texts.shortcuts.title}
          >
            ?
          </button>
          <Account />
        </nav>
      </header>
      <main id="content" className="page" tabIndex={-1}>
        {children}
      </main>
      <PageAnnouncer />
      <ProposedNotice />
      <ShortcutsDialog isOpen={isHelpOpen} onClose={() => setHelpOpen(false)} />
    </>
  );
}

function TopLink({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  const [location] = useLocation();
  return (
    <Link href={href} aria-current={location === href ? "page" : undefined}>
      {children}
    </Link>
  );
}

/** Tells the user that the change is not stored yet, until they leave the page or close it. */
function ProposedNotice() {
  const isProposed = useProposed();
  const [location] = useLocation();
  useEffect(() => () => setProposed(false), [location]);
  return (
    <div aria-live="polite" className="toast-region">
      {isProposed && (
        <p className="toast">
          {texts.proposals.waiting} <Link href={addresses.proposals()}>{texts.proposals.view}</Link>
          <button
            type="button"
            className="subtle"
            aria-label={texts.common.close}
            onClick={() => setProposed(false)}
          >
            ✕
          </button>
        </p>
      )}
    </div>
  );
}

/** Only while proposals wait for the user. The account menu always leads to all of them. */
function ProposalsLink() {
  const pending = useProposalsForMe();
  if (pending === 0) return null;
  return (
    <span className="wide-only">
      <TopLink href={addresses.proposals()}>{texts.proposals.link(texts.number(pending))}</TopLink>
    </span>
  );
}

/** The number of pending proposals that the user can decide or has made. */
function useProposalsForMe(): number {
  return useApiQuery(ProposalsForMeDocument, {}).data?.listActionRequests?.total ?? 0;
}

function Account() {
  const me = useMe();
  const pending = useProposalsForMe();
  const [, navigate] = useLocation();
  const name = nameOf(me.data?.me?.corpUser);
  const [error, setError] = useState<Error | null>(null);
  const endSession = () => {
    setError(null);
    signOut()
      .then((elsewhere) => {
        if (elsewhere === null) return resetCache();
        window.location.assign(elsewhere);
        return undefined;
      })
      .catch(setError);
  };
  return (
    <>
      <Menu
        label={texts.shell.account(name)}
        trigger={<span className="account">{name}</span>}
        items={[
          {
            label:
              pending === 0 ? texts.proposals.title : texts.proposals.link(texts.number(pending)),
            onSelect: () => navigate(addresses.proposals()),
          },
          {
            label: texts.settings.sections.tokens,
            onSelect: () => navigate(addresses.settings("tokens")),
          },
          {
            label: texts.settings.sections.account,
            onSelect: () => navigate(addresses.settings("account")),
          },
          {
            label: texts.settings.sections.users,
            onSelect: () => navigate(addresses.settings("users")),
          },
          {
            label: texts.settings.sections.audit,
            onSelect: () => navigate(addresses.settings("audit")),
          },
          {
            label: texts.settings.sections.appearance,
            onSelect: () => navigate(addresses.settings("appearance")),
          },
          { label: texts.shell.signOut, onSelect: () => leave(endSession) },
        ]}
      />
      {error !== null && <ErrorMessage error={error} />}
    </>
  );
}
