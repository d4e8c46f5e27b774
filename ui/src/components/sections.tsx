import { useLayoutEffect, useRef, type ReactNode } from "react";
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

/** A tab of an entity page. */
export interface EntityTab {
  readonly address: string;
  readonly label: string;
  /** How much it contains, if that is known and worth saying. */
  readonly count?: number | undefined;
  readonly isCurrent: boolean;
}

/** Centers the current tab in its row, without scrolling the page. */
function scrollToCurrent(row: HTMLElement | null): void {
  const current = row?.querySelector("[aria-current]")?.getBoundingClientRect();
  if (row === null || current === undefined) return;
  const visible = row.getBoundingClientRect();
  row.scrollLeft += current.left - visible.left - (visible.width - current.width) / 2;
}

/** The tabs of an entity page: overview first, history last. */
export function EntityTabs({
  address,
  label,
  isHistory,
  overview = texts.dataset.tabs.overview,
  others = [],
}: {
  readonly address: string;
  readonly label: string;
  readonly isHistory: boolean;
  readonly overview?: string;
  readonly others?: readonly EntityTab[];
}) {
  const isOverview = !isHistory && !others.some(({ isCurrent }) => isCurrent);
  const tabs: readonly EntityTab[] = [
    { address, label: overview, isCurrent: isOverview },
    ...others,
    {
      address: addresses.history(address),
      label: texts.dataset.tabs.history,
      isCurrent: isHistory,
    },
  ];
  const row = useRef<HTMLElement>(null);
  // On narrow screens the row scrolls. Counts that arrive later move the current tab.
  const layout = tabs.map((tab) => `${tab.address} ${tab.isCurrent} ${tab.count ?? ""}`).join();
  useLayoutEffect(() => scrollToCurrent(row.current), [layout]);
  return (
    <nav className="tabs" aria-label={label} ref={row}>
      {tabs.map((tab) => (
        <Link
          key={tab.address}
          href={tab.address}
          aria-current={tab.isCurrent ? "page" : undefined}
        >
          {tab.label}
          {tab.count !== undefined && (
            <>
              {" "}
              <span className="tab-count">{texts.number(tab.count)}</span>
            </>
          )}
        </Link>
      ))}
    </nav>
  );
}
