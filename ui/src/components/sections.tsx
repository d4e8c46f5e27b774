import type { ReactNode } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { texts } from "../texts.ts";

/** The heading of a section, with its buttons and filters. */
export function SectionHeader({
  title,
  id,
  children,
}: {
  readonly title: string;
  readonly id: string;
  readonly children?: ReactNode;
}) {
  return (
    <div className="section-header">
      <h2 id={id}>{title}</h2>
      {children}
    </div>
  );
}

/** The tabs of an entity page: overview and history. */
export function EntityTabs({
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
        {texts.dataset.tabs.overview}
      </Link>
      <Link href={addresses.history(address)} aria-current={isHistory ? "page" : undefined}>
        {texts.dataset.tabs.history}
      </Link>
    </nav>
  );
}
