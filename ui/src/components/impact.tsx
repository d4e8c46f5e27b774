import { texts } from "../texts.ts";

/** What a change affects, before it is confirmed. */
export function Impact({ sentences }: { readonly sentences: readonly string[] }) {
  return (
    <>
      <p>{texts.common.impact}:</p>
      <ul>
        {sentences.map((sentence) => (
          <li key={sentence} dir="auto">
            {sentence}
          </li>
        ))}
      </ul>
    </>
  );
}
