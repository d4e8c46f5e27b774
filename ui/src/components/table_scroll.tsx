import { useLayoutEffect, useRef, useState, type ReactNode } from "react";

import { texts } from "../texts.ts";

interface TableScrollProperties {
  /** What the table is, for screen readers. */
  readonly label?: string | undefined;
  readonly className?: string;
  readonly children: ReactNode;
}

/** Lets a table scroll sideways where it is too wide. Only then it takes the focus, so that arrow
 *  keys scroll it; the style sheet draws a shadow where there is more. */
export function TableScroll({
  label = texts.common.wideTable,
  className = "",
  children,
}: TableScrollProperties) {
  const box = useRef<HTMLDivElement>(null);
  const [isWide, setWide] = useState(false);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    // One pixel is a rounding difference.
    const measure = () => setWide(element.scrollWidth > element.clientWidth + 1);
    measure();
    const observer = new ResizeObserver(measure);
    for (const observed of [element, ...element.children]) observer.observe(observed);
    return () => observer.disconnect();
  }, []);
  return (
    <div
      ref={box}
      className={`table-scroll ${className}`}
      {...(isWide ? { role: "region", "aria-label": label, tabIndex: 0 } : {})}
    >
      {children}
    </div>
  );
}
