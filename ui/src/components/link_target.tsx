import { texts } from "../texts.ts";
import { isSafeUrl } from "./markdown.tsx";

/** A link to an external page, as stored. */
interface StoredLink {
  readonly url: string;
  readonly label: string;
}

/** Shows any stored URL, but links only safe ones. */
export function LinkTarget({ link }: { readonly link: StoredLink }) {
  if (!isSafeUrl(link.url)) {
    return (
      <span title={texts.links.unsafe} dir="auto">
        {link.label} <code>{link.url}</code>
      </span>
    );
  }
  return (
    <a href={link.url} rel="noopener noreferrer nofollow" title={link.url} dir="auto">
      {link.label === "" ? link.url : link.label}
    </a>
  );
}
