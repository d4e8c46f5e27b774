import DOMPurify from "dompurify";
import { Marked, type Tokens, type TokensList } from "marked";
import { memo, useMemo } from "react";

import { texts } from "../texts.ts";

// Text is stored as people and programs sent it, so nothing in it is trusted here. Three walls stand one behind the other:
// HTML in Markdown is shown as text, what comes out is reduced to a list of harmless elements and attributes, and the
// Content-Security-Policy of the server forbids scripts that stand in a page.

const escaped = (text: string) => text.replace(/[&<>"']/g, (letter) => `&#${letter.codePointAt(0)};`);

const parser = new Marked({
  gfm: true,
  async: false,
  renderer: {
    html: ({ text }) => escaped(text),
    // Pictures from elsewhere would tell somebody who reads what, and would make the page jump: they are links.
    image({ href, text }) {
      const label = text === "" ? texts.description.imageWithoutName : texts.description.image(text);
      return `<a href="${escaped(href)}">${escaped(label)}</a>`;
    },
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
  },
});

const SAFE_ADDRESS = /^(?:https?:|ftp:|mailto:|\/(?!\/)|#)/i;

const RULES = {
  ALLOWED_TAGS: [
    "a",
    "blockquote",
    "br",
    "code",
    "del",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "strong",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
  ],
  ALLOWED_ATTR: ["href", "title", "start", "align"],
  ALLOWED_URI_REGEXP: SAFE_ADDRESS,
  // These hold no address, so what an address must look like does not count for them.
  ADD_URI_SAFE_ATTR: ["start", "align"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

const purifier = DOMPurify();
purifier.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    node.setAttribute("rel", "noopener noreferrer nofollow");
    if (!node.hasAttribute("href")) node.removeAttribute("rel");
  }
});

/** The level of the highest heading in a description: those of the page stand above it. */
const FIRST_LEVEL = 3;

/** Headings without gaps between their levels, whatever levels the author chose. */
function lowerHeadings(tokens: TokensList): void {
  const headings = tokens.filter((token): token is Tokens.Heading => token.type === "heading");
  const highest = Math.min(...headings.map((heading) => heading.depth));
  let before = FIRST_LEVEL - 1;
  for (const heading of headings) {
    heading.depth = Math.min(6, before + 1, FIRST_LEVEL + heading.depth - highest);
    before = heading.depth;
  }
}

/** The first wall: Markdown as HTML, in which whatever was HTML already is text. */
export function parsed(markdown: string): string {
  const tokens = parser.lexer(markdown);
  lowerHeadings(tokens);
  return parser.parser(tokens);
}

/** The second wall: of any HTML only what is harmless. */
export const purified = (html: string): string => purifier.sanitize(html, RULES);

/** Letters that mean something in Markdown, an address, or more than one paragraph. Without them a text is what it says. */
const HAS_MARKS = /[*_`#[\]<>!~|\\&]|:\/\/|www\.|@|\n|^\s*(?:[-+]|\d+[.)])\s/;

export function isSafeAddress(address: string): boolean {
  return SAFE_ADDRESS.test(address.trim());
}

/** Markdown as people wrote it, rendered harmless. */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  const html = useMemo(() => (HAS_MARKS.test(text) ? purified(parsed(text)) : null), [text]);
  if (html === null) {
    return (
      <div className="prose">
        <p>{text}</p>
      </div>
    );
  }
  return <div className="prose" dangerouslySetInnerHTML={{ __html: html }} />;
});
