import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";
import { memo, useMemo } from "react";

import { texts } from "../texts.ts";

// Text is stored as people and programs sent it, so nothing in it is trusted here. Three walls stand one behind the other:
// HTML in Markdown is shown as text, what comes out is reduced to a list of harmless elements and attributes, and the
// Content-Security-Policy of the server forbids scripts that stand in a page.

const parser = new MarkdownIt({ html: false, linkify: true, breaks: false, typographer: false });

// Pictures from elsewhere would tell somebody who reads what, and would make the page jump: they are links.
parser.renderer.rules["image"] = (tokens, index) => {
  const token = tokens[index];
  const address = token?.attrGet("src") ?? "";
  const alt = token?.content ?? "";
  const label = alt === "" ? texts.description.imageWithoutName : texts.description.image(alt);
  return `<a href="${parser.utils.escapeHtml(address)}">${parser.utils.escapeHtml(label)}</a>`;
};

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

/** Headings of a description stand below those of the page. */
function lowered(html: string): string {
  return html.replace(/<(\/?)h([1-6])>/g, (_, slash: string, level: string) => `<${slash}h${Math.min(6, Number(level) + 2)}>`);
}

export function htmlOf(markdown: string): string {
  return purifier.sanitize(lowered(parser.render(markdown)), RULES);
}

export function isSafeAddress(address: string): boolean {
  return SAFE_ADDRESS.test(address.trim());
}

/** Markdown as people wrote it, rendered harmless. */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  const html = useMemo(() => htmlOf(text), [text]);
  return <div className="prose" dangerouslySetInnerHTML={{ __html: html }} />;
});
