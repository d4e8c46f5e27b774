import { forwardRef, type ButtonHTMLAttributes } from "react";

import { Icon, type IconName } from "./icon.tsx";

interface IconButtonProperties extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly icon: IconName;
  /** Its accessible name. */
  readonly label: string;
  /** The tooltip, if the accessible name says more than users need who see the context. */
  readonly hint?: string;
}

/** A small button with an icon; a tooltip says what it does. */
export const IconButton = forwardRef<HTMLButtonElement, IconButtonProperties>(function IconButton(
  { icon, label, hint, className, ...more },
  ref,
) {
  return (
    <button
      type="button"
      ref={ref}
      className={className === undefined ? "icon-button" : `icon-button ${className}`}
      aria-label={label}
      data-tooltip={hint ?? label}
      {...more}
    >
      <Icon name={icon} />
    </button>
  );
});
