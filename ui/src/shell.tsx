import { useEffect, useState, type ReactNode } from "react";
import { Link, useLocation } from "wouter";

import * as addresses from "./addresses.ts";
import { resetCache, useApiQuery, useMe } from "./api/cache.ts";
import { signOut } from "./api/client.ts";
import { setProposed, useProposed } from "./api/proposed.ts";
import { Avatar } from "./components/avatar.tsx";
import { Menu } from "./components/menu.tsx";
import { SearchBox } from "./components/search_box.tsx";
import { PageAnnouncer, ErrorMessage } from "./components/states.tsx";
import { leave } from "./components/unsaved.ts";
import { useShortcuts } from "./components/shortcuts.ts";
import { ShortcutsDialog } from "./components/shortcuts_dialog.tsx";
import { ProposalsForMeDocument, type MeQuery } from "./generated/operations.ts";
import { Icon } from "./icons/icon.tsx";
import { IconButton } from "./icons/icon_button.tsx";
import { Mark } from "./icons/mark.tsx";
import { nameOf } from "./names.ts";
import { BROWSE, TOP, type NavigationEntry } from "./navigation.ts";
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
          <Mark />
          {texts.product}
        </Link>
        {isHome ? <span className="site-header-spacer" /> : <SearchBox />}
        <nav aria-label={texts.shell.navigation} className="site-nav">
          <Browse />
          {TOP.map(({ name, address }) => (
            <TopLink key={name} href={address}>
              {texts.shell.entries[name]}
            </TopLink>
          ))}
          <ProposalsLink />
          <IconButton
            icon="help"
            className="quiet wide-only"
            label={texts.shortcuts.title}
            onClick={() => setHelpOpen(true)}
          />
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
    <Link href={href} className="wide-only" aria-current={location === href ? "page" : undefined}>
      {children}
    </Link>
  );
}

const linkTo = (location: string) => (entry: NavigationEntry) => ({
  label: texts.shell.entries[entry.name],
  icon: entry.icon,
  address: entry.address,
  isCurrent: location === entry.address,
});

/** Lists of everything of one kind. On phones, all of the navigation. */
function Browse() {
  const [location] = useLocation();
  return (
    <>
      <Menu
        className="nav-button wide-only"
        trigger={
          <>
            {texts.shell.browse} <Icon name="down" />
          </>
        }
        items={BROWSE.map(linkTo(location))}
      />
      <Menu
        className="icon-button quiet narrow-only"
        label={texts.shell.menu}
        trigger={<Icon name="menu" />}
        items={[...BROWSE, ...TOP].map(linkTo(location))}
      />
    </>
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
          {texts.shell.proposals.waiting}{" "}
          <Link href={addresses.proposals()}>{texts.shell.proposals.view}</Link>
          <IconButton
            icon="close"
            className="quiet"
            label={texts.common.close}
            onClick={() => setProposed(false)}
          />
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
    <TopLink href={addresses.proposals()}>
      {texts.shell.proposals.link(texts.number(pending))}
    </TopLink>
  );
}

/** The number of pending proposals that the user can decide or has made. */
function useProposalsForMe(): number {
  return useApiQuery(ProposalsForMeDocument, {}).data?.listActionRequests?.total ?? 0;
}

type Privileges = NonNullable<MeQuery["me"]>["platformPrivileges"];

/** The first section of the administration that the user may see; the settings list the others. */
function administrationOf(privileges: Privileges | undefined): string | null {
  if (privileges?.manageIdentities === true) return addresses.settings("users");
  if (privileges?.managePolicies === true) return addresses.settings("policies");
  if (privileges?.manageTokens === true) return addresses.settings("all-tokens");
  if (privileges?.manageServiceAccounts === true) return addresses.settings("service-accounts");
  if (privileges?.manageOwnershipTypes === true) return addresses.settings("ownership-types");
  return privileges?.viewAuditLog === true ? addresses.settings("audit") : null;
}

function Account() {
  const me = useMe();
  const pending = useProposalsForMe();
  const name = nameOf(me.data?.me?.corpUser);
  const email = me.data?.me?.corpUser.properties?.email ?? "";
  const administration = administrationOf(me.data?.me?.platformPrivileges);
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
        className="account-button"
        label={texts.shell.account(name)}
        trigger={<Avatar actor={me.data?.me?.corpUser ?? {}} />}
        header={
          <>
            <strong dir="auto">{name}</strong>
            {email !== "" && <div className="hint">{email}</div>}
          </>
        }
        items={[
          {
            label:
              pending === 0
                ? texts.shell.proposals.title
                : texts.shell.proposals.link(texts.number(pending)),
            icon: "check",
            address: addresses.proposals(),
          },
          {
            label: texts.shell.personal.tokens,
            icon: "key",
            address: addresses.settings("tokens"),
          },
          {
            label: texts.shell.personal.account,
            icon: "person",
            address: addresses.settings("account"),
          },
          {
            label: texts.shell.personal.appearance,
            icon: "settings",
            address: addresses.settings("appearance"),
          },
          ...(administration === null
            ? []
            : [
                {
                  label: texts.shell.administration,
                  icon: "group" as const,
                  address: administration,
                },
              ]),
          { label: texts.shell.signOut, icon: "signOut", onSelect: () => leave(endSession) },
        ]}
      />
      {error !== null && <ErrorMessage error={error} />}
    </>
  );
}
