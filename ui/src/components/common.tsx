// Small components that many pages share.

import { useEffect, useState, type MouseEvent, type ReactNode } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { isSystemUser, nameOf, type Nameable } from "../names.ts";
import { texts } from "../texts.ts";
import { formatRelative, formatDateTime } from "../time.ts";
import { FormattedText } from "./formatted_text.tsx";

export function RelativeTime({ time }: { readonly time: number }) {
  if (time <= 0) return <span>{texts.common.unknownTime}</span>;
  return (
    <time dateTime={new Date(time).toISOString()} title={formatDateTime(time)}>
      {formatRelative(time)}
    </time>
  );
}

interface BylineProperties {
  readonly actor?: Nameable | null | undefined;
  readonly time: number;
  /** The text with the placeholders `{when}` and `{who}`, and the text without an actor. */
  readonly by?: string;
  readonly at?: string;
}

/** When something was done, and by whom unless it was the server. */
export function Byline({
  actor,
  time,
  by = texts.common.changedBy,
  at = "{when}",
}: BylineProperties) {
  const hasActor = actor !== null && actor !== undefined && !isSystemUser(actor);
  return (
    <span className="byline">
      <FormattedText
        text={hasActor ? by : at}
        values={{ who: nameOf(actor), when: <RelativeTime time={time} /> }}
      />
    </span>
  );
}

/** The name of an entity as a link. */
export function EntityLink({
  entity,
  className,
  onFollow,
}: {
  readonly entity: Nameable & { readonly urn: string };
  readonly className?: string;
  /** Follows the link, in long tables, where a component of its own would make scrolling slow. */
  readonly onFollow?: (event: MouseEvent<HTMLAnchorElement>) => void;
}) {
  // Stands for an entity that the user may not see.
  if (entity.urn.startsWith("urn:li:restricted:")) {
    return <span className="hint">{texts.common.restricted}</span>;
  }
  const properties = {
    dir: "auto",
    href: addresses.entity(entity.urn),
    ...(className === undefined ? {} : { className }),
  };
  if (onFollow !== undefined) {
    return (
      <a {...properties} onClick={onFollow}>
        {nameOf(entity)}
      </a>
    );
  }
  return <Link {...properties}>{nameOf(entity)}</Link>;
}

export function CopyButton({
  text,
  label,
  caption = texts.common.copy,
}: {
  readonly text: string;
  readonly label: string;
  readonly caption?: string;
}) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = () => {
    void copyText(text).then(setCopied);
  };
  return (
    // The name must contain the text that is shown, so "Copied" is the name while it is shown.
    <button
      type="button"
      className="subtle"
      onClick={copy}
      aria-label={isCopied ? undefined : label}
    >
      <span aria-live="polite">{isCopied ? texts.common.copied : caption}</span>
    </button>
  );
}

/** Falls back to `execCommand` where the Clipboard API is missing, as on pages served over plain
 *  HTTP. */
async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard !== undefined) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Not permitted: use the fallback.
    }
  }
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  return isCopied;
}

/** The environment of a dataset, unless it is production. */
export function Environment({ origin }: { readonly origin: string }) {
  if (origin === "PROD") return null;
  return (
    <span className="chip" title={texts.dataset.environment}>
      {origin}
    </span>
  );
}

export function Key({ children }: { readonly children: ReactNode }) {
  return <kbd>{children}</kbd>;
}
