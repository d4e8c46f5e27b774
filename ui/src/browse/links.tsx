import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { texts } from "../texts.ts";

/** The pages that list entities of one kind. */
const LINKS = [
  [addresses.domains, texts.domains.title],
  [addresses.platforms, texts.platforms.title],
  [addresses.glossary, texts.glossary.title],
  [addresses.tags, texts.tags.title],
  [addresses.dataProducts, texts.products.title],
  [addresses.people, texts.people.tabs],
] as const;

/** Where to start for users who do not search. */
export function BrowseLinks() {
  return (
    <nav className="browse-links" aria-label={texts.browse}>
      {LINKS.map(([address, title]) => (
        <Link key={address} className="chip" href={address}>
          {title}
        </Link>
      ))}
    </nav>
  );
}
