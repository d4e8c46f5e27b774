import DOMPurify from "dompurify";
import { Marked, type Tokens, type TokensList } from "marked";
import { memo, useMemo } from "react";

import { texts } from "../texts.ts";

// Descriptions are stored as sent, so their content is untrusted. There are three layers of
// defense: HTML in Markdown is shown as text, the output is sanitized to a list of safe elements
// and attributes, and the server's Content-Security-Policy forbids inline scripts.

const escapeHtml = (text: string) =>
  text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);

const parser = new Marked({
  gfm: true,
  async: false,
  renderer: {
    html: ({ text }) => escapeHtml(text),
    // Remote images would leak who reads what and shift the layout, so they become links.
    image({ href, text }) {
      const label = text === "" ? texts.description.imageWithoutAlt : texts.description.image(text);
      return `<a href="${escapeHtml(href)}">${escapeHtml(label)}</a>`;
    },
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
  },
});

const SAFE_URL = /^(?:https?:|ftp:|mailto:|\/(?!\/)|#)/i;

const SANITIZER_OPTIONS = {
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
  ALLOWED_URI_REGEXP: SAFE_URL,
  // These attributes hold no URL, so the URL pattern does not apply to them.
  ADD_URI_SAFE_ATTR: ["start", "align"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

const sanitizer = DOMPurify();
sanitizer.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    node.setAttribute("rel", "noopener noreferrer nofollow");
    if (!node.hasAttribute("href")) node.removeAttribute("rel");
  }
});

/** The highest heading level in a description; the page uses the levels above it. */
const FIRST_LEVEL = 3;

/** Removes gaps between heading levels, so that the outline of the page stays valid. */
function normalizeHeadings(tokens: TokensList): void {
  const headings = tokens.filter((token): token is Tokens.Heading => token.type === "heading");
  const highest = Math.min(...headings.map((heading) => heading.depth));
  let previous = FIRST_LEVEL - 1;
  for (const heading of headings) {
    heading.depth = Math.min(6, previous + 1, FIRST_LEVEL + heading.depth - highest);
    previous = heading.depth;
  }
}

/** The first layer: converts Markdown to HTML, escaping any HTML in it. */
export function toHtml(markdown: string): string {
  const tokens = parser.lexer(markdown);
  normalizeHeadings(tokens);
  return parser.parser(tokens);
}

/** The second layer: keeps only safe HTML. */
export const sanitize = (html: string): string => sanitizer.sanitize(html, SANITIZER_OPTIONS);

/** Matches Markdown syntax, URLs and line breaks. Other texts need no parsing. */
const HAS_MARKUP = /[*_`#[\]<>!~|\\&]|:\/\/|www\.|@|\n|^\s*(?:[-+]|\d+[.)])\s/;

export function isSafeUrl(url: string): boolean {
  return SAFE_URL.test(url.trim());
}

/** Renders untrusted Markdown. */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  const html = useMemo(() => (HAS_MARKUP.test(text) ? sanitize(toHtml(text)) : null), [text]);
  if (html === null) {
    return (
      <div className="prose" dir="auto">
        <p>{text}</p>
      </div>
    );
  }
  return <div className="prose" dir="auto" dangerouslySetInnerHTML={{ __html: html }} />;
});
