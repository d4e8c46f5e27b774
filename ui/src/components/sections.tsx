import type { ReactNode } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { texts } from "../texts.ts";

/** The heading of a section, with what belongs beside it. */
export function SectionHead({
  title,
  id,
  children,
}: {
  readonly title: string;
  readonly id: string;
  readonly children?: ReactNode;
}) {
  return (
    <div className="section-head">
      <h2 id={id}>{title}</h2>
      {children}
    </div>
  );
}

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
