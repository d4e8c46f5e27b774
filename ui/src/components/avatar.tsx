import { useState } from "react";

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

interface Pictured extends Nameable {
  readonly picture?: { readonly pictureLink: string | null } | null;
}

/** The address of a picture that the page may load: in the address itself, or a file of this server.
 *  Nothing from other sites, and no other path of this server: reading it could have an effect, such
 *  as a sign-out, and users choose their pictures. */
function pictureOf({ picture }: Pictured): string | null {
  const link = picture?.pictureLink ?? "";
  if (link.startsWith("data:image/")) return link;
  if (link === "" || !URL.canParse(link, window.location.href)) return null;
  // Without dot segments; a proxy could decode a slash.
  const { origin, pathname, href } = new URL(link, window.location.href);
  const isFile = pathname.startsWith("/assets/") && !/%2f|%5c/iu.test(pathname);
  return origin === window.location.origin && isFile ? href : null;
}

/** The picture of a user, or the initials of a user or group in a colored circle; the name stands
 *  beside it. */
export function Avatar({
  actor,
  isSmall = false,
}: {
  readonly actor: Pictured;
  readonly isSmall?: boolean;
}) {
  const name = nameOf(actor);
  const isGroup = actor.urn?.startsWith("urn:li:corpGroup:") === true;
  const picture = pictureOf(actor);
  const [failed, setFailed] = useState<string | null>(null);
  if (picture !== null && picture !== failed)
    return (
      <img
        className={isSmall ? "avatar avatar-small" : "avatar"}
        src={picture}
        alt=""
        onError={() => setFailed(picture)}
      />
    );
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
