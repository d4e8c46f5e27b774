import DOMPurify from "dompurify";
import { Marked } from "marked";
import { memo, useMemo } from "react";

import { texts } from "../texts.ts";

// Text is stored as people and programs sent it, so nothing in it is trusted here. Three walls stand one behind the other:
// HTML in Markdown is shown as text, what comes out is reduced to a list of harmless elements and attributes, and the
// Content-Security-Policy of the server forbids scripts that stand in a page.

const escaped = (text: string) =>
  text.replace(/[&<>"']/g, (letter) => `&#${letter.codePointAt(0)};`);

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
    // Headings of a description stand below those of the page.
    heading({ tokens, depth }) {
      const level = Math.min(6, depth + 2);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
    },
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
  },
});

const SAFE_ADDRESS = /^(?:https?:|ftp:|mailto:|\/(?!\/)|#)/i;

const RULES = {
  ALLOWED_TAGS: [
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
  ],
  ALLOWED_ATTR: ["href", "title", "start", "align"],
  ALLOWED_URI_REGEXP: SAFE_ADDRESS,
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

export function htmlOf(markdown: string): string {
  return purifier.sanitize(parser.parse(markdown) as string, RULES);
}

export function isSafeAddress(address: string): boolean {
  return SAFE_ADDRESS.test(address.trim());
}

/** Markdown as people wrote it, rendered harmless. */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  const html = useMemo(() => htmlOf(text), [text]);
  return <div className="prose" dangerouslySetInnerHTML={{ __html: html }} />;
});
