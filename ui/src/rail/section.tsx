import { useRef, type ReactNode } from "react";

import { useFocusFallback } from "../components/focus.ts";
import type { IconName } from "../icons/icon.tsx";
import { IconButton } from "../icons/icon_button.tsx";

interface RailSectionProperties {
  readonly id: string;
  readonly heading: string;
  /** What adds an entry, or edits the only one, if the user may. */
  readonly add?:
    { readonly label: string; readonly icon?: IconName; readonly onClick: () => void } | undefined;
  readonly children: ReactNode;
}

/** One subject of the rail. */
export function RailSection({ id, heading, add, children }: RailSectionProperties) {
  const section = useRef<HTMLElement>(null);
  // The entry that had the focus may be removed.
  useFocusFallback(section, () => section.current?.querySelector("button"));
  return (
    <section className="rail-section" aria-labelledby={id} ref={section}>
      <div className="rail-heading">
        <h2 id={id}>{heading}</h2>
        {add !== undefined && (
          <IconButton icon={add.icon ?? "add"} label={add.label} onClick={add.onClick} />
        )}
      </div>
      {children}
    </section>
  );
}
