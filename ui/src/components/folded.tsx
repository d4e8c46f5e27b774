import { useLayoutEffect, useRef, useState, type ReactNode } from "react";

import { texts } from "../texts.ts";

/** Long content, folded until the user asks for all of it. The number of lines is in
 *  components.css. */
export function Folded({ children }: { readonly children: ReactNode }) {
  const content = useRef<HTMLDivElement>(null);
  const [isLong, setLong] = useState(false);
  const [isOpen, setOpen] = useState(false);
  useLayoutEffect(() => {
    const element = content.current;
    if (element === null || isOpen) return;
    const measure = () => setLong(element.scrollHeight > element.clientHeight + 1);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [isOpen, children]);
  return (
    <>
      <div
        ref={content}
        className={isOpen ? undefined : isLong ? "folded folded-long" : "folded"}
        // A focused link in the hidden part would scroll it into view, but stay cut off.
        onFocus={() => isLong && setOpen(true)}
      >
        {children}
      </div>
      {isLong && (
        <button
          type="button"
          className="subtle fold-button"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? texts.common.showLess : texts.common.showAll}
        </button>
      )}
    </>
  );
}
