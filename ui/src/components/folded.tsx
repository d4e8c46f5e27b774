import { useLayoutEffect, useRef, useState, type ReactNode } from "react";

import { texts } from "../texts.ts";

interface FoldedProperties {
  /** Whether the user has asked for all of it. Kept outside, where it survives an edit. */
  readonly isUnfolded: boolean;
  readonly onChange: (isUnfolded: boolean) => void;
  readonly children: ReactNode;
}

/** Long content, folded until the user asks for all of it. The number of lines is in
 *  components.css. */
export function Folded({ isUnfolded, onChange, children }: FoldedProperties) {
  const content = useRef<HTMLDivElement>(null);
  const [isLong, setLong] = useState(false);
  // Only folded content can be measured.
  const isOpen = isUnfolded && isLong;
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
        onFocus={() => isLong && onChange(true)}
      >
        {children}
      </div>
      {isLong && (
        <button
          type="button"
          className="subtle fold-button"
          aria-expanded={isOpen}
          onClick={() => onChange(!isOpen)}
        >
          {isOpen ? texts.common.showLess : texts.common.showAll}
        </button>
      )}
    </>
  );
}
