import { Fragment, type ReactNode } from "react";

/** A text with placeholders that are filled with elements: `Added to {domain}`. */
export function FormattedText({
  text,
  values,
}: {
  readonly text: string;
  readonly values: Readonly<Record<string, ReactNode>>;
}) {
  return text
    .split(/\{(\w+)\}/)
    .map((segment, index) => (
      <Fragment key={index}>{index % 2 === 0 ? segment : values[segment]}</Fragment>
    ));
}
