import { Fragment, type ReactNode } from "react";

/** A sentence of texts.ts with something that is more than text in it: `put into {domain}`. */
export function Sentence({
  text,
  parts,
}: {
  readonly text: string;
  readonly parts: Readonly<Record<string, ReactNode>>;
}) {
  return text
    .split(/\{(\w+)\}/)
    .map((piece, place) => <Fragment key={place}>{place % 2 === 0 ? piece : parts[piece]}</Fragment>);
}
