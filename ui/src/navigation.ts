// The entries of the navigation. To add one: a line here, and its name in shell_texts.ts.

import * as addresses from "./addresses.ts";
import type { IconName } from "./icons/icon.tsx";
import type { shellTexts } from "./shell_texts.ts";

export interface NavigationEntry {
  readonly name: keyof typeof shellTexts.entries;
  readonly icon: IconName;
  readonly address: string;
}

/** What the Browse menu lists. */
export const BROWSE: readonly NavigationEntry[] = [
  { name: "domains", icon: "domain", address: addresses.domains },
  { name: "glossary", icon: "term", address: addresses.glossary },
  { name: "tags", icon: "tag", address: addresses.tags },
  { name: "platforms", icon: "platform", address: addresses.platforms },
  { name: "products", icon: "product", address: addresses.dataProducts },
  { name: "people", icon: "person", address: addresses.people },
];

/** What stands in the header itself. */
export const TOP: readonly NavigationEntry[] = [
  { name: "changes", icon: "changes", address: addresses.changes() },
  { name: "api", icon: "code", address: addresses.explorer },
];
