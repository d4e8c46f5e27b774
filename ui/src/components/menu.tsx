import { Suspense, lazy, useState, type ReactNode } from "react";

import type { IconName } from "../icons/icon.tsx";
import { loadChunk } from "./chunks.ts";

const OpenMenu = lazy(() => loadChunk(import("./open_menu.tsx")));

interface MenuItem {
  readonly label: string;
  readonly icon?: IconName;
  /** Where it leads; a link, so that it can be opened in another tab. */
  readonly address?: string;
  readonly isCurrent?: boolean;
  readonly onSelect?: () => void;
  readonly isDangerous?: boolean;
}

export interface MenuProperties {
  /** The accessible name of the button, if its content does not say enough. */
  readonly label?: string;
  readonly tooltip?: string;
  /** What stands above the items. */
  readonly header?: ReactNode;
  readonly trigger: ReactNode;
  readonly items: readonly MenuItem[];
  readonly className?: string;
}

/** A button with a list of actions and links. What places the list and moves the focus in it is
 *  loaded when the first menu opens. */
export function Menu(properties: MenuProperties) {
  const [isUsed, setUsed] = useState(false);
  const { label, tooltip, trigger, className } = properties;
  const button = (
    <button
      type="button"
      className={className ?? "subtle"}
      aria-haspopup="menu"
      aria-expanded={false}
      aria-label={label}
      data-tooltip={tooltip}
      onClick={() => setUsed(true)}
      onKeyDown={(event) => {
        if (event.key !== "ArrowDown") return;
        event.preventDefault();
        setUsed(true);
      }}
    >
      {trigger}
    </button>
  );
  if (!isUsed) return button;
  return (
    <Suspense fallback={button}>
      <OpenMenu {...properties} />
    </Suspense>
  );
}
