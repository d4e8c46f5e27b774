import { nameOf, type Nameable } from "../names.ts";

/** The initials of a name, at most two. */
function initials(name: string): string {
  const words = name.split(/[\s._-]+/u).filter((word) => word !== "");
  const first = words[0] ?? "";
  const last = words.length > 1 ? (words.at(-1) ?? "") : "";
  return [first, last].map((word) => [...word][0] ?? "").join("");
}

/** A hue that stays the same for a name. */
function hue(text: string): number {
  let sum = 0;
  for (const character of text) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 360;
  return sum;
}

/** The initials of a user or group in a colored circle; the name stands beside it. */
export function Avatar({
  actor,
  isSmall = false,
}: {
  readonly actor: Nameable;
  readonly isSmall?: boolean;
}) {
  const name = nameOf(actor);
  const isGroup = actor.urn?.startsWith("urn:li:corpGroup:") === true;
  return (
    <span
      className={isSmall ? "avatar avatar-small" : "avatar"}
      data-group={isGroup}
      style={{ "--hue": hue(actor.urn ?? name) } as React.CSSProperties}
      aria-hidden="true"
    >
      {initials(name).toLocaleUpperCase()}
    </span>
  );
}
