import { Link } from "wouter";

import { BROWSE } from "../navigation.ts";
import { texts } from "../texts.ts";

/** Where to start for users who do not search. */
export function BrowseLinks() {
  return (
    <nav className="browse-links" aria-label={texts.shell.browse}>
      {BROWSE.map(({ name, address }) => (
        <Link key={address} className="chip" href={address}>
          {texts.shell.entries[name]}
        </Link>
      ))}
    </nav>
  );
}
