// The smallest things that many pages show: a moment, a person, a platform, a button that copies.

import { useEffect, useState, type ReactNode } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { nameOf, type Nameable } from "../names.ts";
import { texts } from "../texts.ts";
import { agoOf, momentOf } from "../time.ts";
import { Sentence } from "./sentence.tsx";

export function Moment({ time }: { readonly time: number }) {
  if (time <= 0) return <span>{texts.common.unknownTime}</span>;
  return (
    <time dateTime={new Date(time).toISOString()} title={momentOf(time)}>
      {agoOf(time)}
    </time>
  );
}

/** Who did something, and when. */
export function Stamp({ actor, time }: { readonly actor: Nameable | null | undefined; readonly time: number }) {
  return (
    <span className="stamp">
      <Sentence text={texts.common.stamp} parts={{ who: nameOf(actor), when: <Moment time={time} /> }} />
    </span>
  );
}

/** The name of an entity, leading to where it can be looked at. */
export function EntityLink({
  entity,
  className,
}: {
  readonly entity: Nameable & { readonly urn: string };
  readonly className?: string;
}) {
  return (
    <Link href={addresses.entity(entity.urn)} {...(className === undefined ? {} : { className })}>
      {nameOf(entity)}
    </Link>
  );
}

export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
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
    <button type="button" className="quiet" onClick={copy} aria-label={label}>
      <span aria-live="polite">{isCopied ? texts.common.copied : texts.common.copy}</span>
    </button>
  );
}

/** The clipboard is there on secure pages only; elsewhere the old way still works. */
async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard !== undefined) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Not allowed: the way below asks nobody.
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

/** A key of the keyboard. */
export function Key({ children }: { readonly children: ReactNode }) {
  return <kbd>{children}</kbd>;
}
