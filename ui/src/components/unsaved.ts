// Text that is typed and not saved must not be lost by a click on a link. Whoever holds such text registers here, and the
// router and the window ask before they go on.

import { useEffect } from "react";

import { texts } from "../texts.ts";

const holders = new Set<symbol>();

/** Whether it is all right to leave; asks the person if something would be lost. */
export function mayLeave(): boolean {
  return holders.size === 0 || window.confirm(texts.description.discard);
}

export function useUnsaved(hasUnsaved: boolean): void {
  useEffect(() => {
    if (!hasUnsaved) return;
    const holder = Symbol("unsaved");
    holders.add(holder);
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => {
      holders.delete(holder);
      window.removeEventListener("beforeunload", ask);
    };
  }, [hasUnsaved]);
}
