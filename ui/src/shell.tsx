import { useState, type ReactNode } from "react";
import { Link, useLocation } from "wouter";

import * as addresses from "./addresses.ts";
import { forgetEverything, useMe } from "./api/cache.ts";
import { signOut } from "./api/client.ts";
import { Menu } from "./components/menu.tsx";
import { SearchBox } from "./components/search_box.tsx";
import { Arrival, Problem } from "./components/states.tsx";
import { leave } from "./components/unsaved.ts";
import { useKeys } from "./components/keys.ts";
import { KeysHelp } from "./components/keys_help.tsx";
import { nameOf } from "./names.ts";
import { texts } from "./texts.ts";

/** What stands around every page: the way home, the search, and who one is. */
export function Shell({ children }: { readonly children: ReactNode }) {
  const [location, navigate] = useLocation();
  const [isHelpOpen, setHelpOpen] = useState(false);
  useKeys({
    "?": () => setHelpOpen(true),
    "g h": () => navigate(addresses.home),
    "g d": () => navigate(addresses.domains),
  });
  const isHome = location === addresses.home;
  return (
    <>
      <a className="skip" href="#content">
        {texts.shell.skip}
      </a>
      <header className="top">
        <Link href={addresses.home} className="brand" aria-label={texts.shell.home}>
          {texts.product}
        </Link>
        {isHome ? <span className="top-space" /> : <SearchBox />}
        <nav aria-label={texts.shell.navigation} className="top-links">
          <TopLink href={addresses.domains}>{texts.shell.domains}</TopLink>
          <TopLink href={addresses.explorer}>{texts.shell.explorer}</TopLink>
          <button
            type="button"
            className="quiet wide-only"
            onClick={() => setHelpOpen(true)}
            aria-label={texts.keys.title}
          >
            ?
          </button>
          <Account />
        </nav>
      </header>
      <main id="content" className="page" tabIndex={-1}>
        {children}
      </main>
      <Arrival />
      <KeysHelp isOpen={isHelpOpen} onClose={() => setHelpOpen(false)} />
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

function Account() {
  const me = useMe();
  const [, navigate] = useLocation();
  const name = nameOf(me.data?.me?.corpUser);
  const [problem, setProblem] = useState<Error | null>(null);
  const goOut = () => {
    setProblem(null);
    signOut().then(forgetEverything).catch(setProblem);
  };
  return (
    <>
      <Menu
        label={texts.shell.account(name)}
        trigger={<span className="account">{name}</span>}
        items={[
          { label: texts.settings.sections.tokens, onSelect: () => navigate(addresses.settings("tokens")) },
          { label: texts.settings.sections.users, onSelect: () => navigate(addresses.settings("users")) },
          { label: texts.settings.sections.appearance, onSelect: () => navigate(addresses.settings("appearance")) },
          { label: texts.shell.signOut, onSelect: () => leave(goOut) },
        ]}
      />
      {problem !== null && <Problem error={problem} />}
    </>
  );
}
