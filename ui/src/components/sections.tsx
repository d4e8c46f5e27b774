import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { texts } from "../texts.ts";

/** The two ways to look at an entity: as it is, and as it became so. */
export function Sections({
  address,
  label,
  isHistory,
}: {
  readonly address: string;
  readonly label: string;
  readonly isHistory: boolean;
}) {
  return (
    <nav className="tabs" aria-label={label}>
      <Link href={address} aria-current={isHistory ? undefined : "page"}>
        {texts.dataset.sections.overview}
      </Link>
      <Link href={addresses.history(address)} aria-current={isHistory ? "page" : undefined}>
        {texts.dataset.sections.history}
      </Link>
    </nav>
  );
}
