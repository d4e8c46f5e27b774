// Text that is being written, kept in the browser's tab until it is saved or thrown away. So it is there again when a page is
// read anew, when a defect stopped it, and when a phone put it away to save memory. It ends with the tab.

/** A text as somebody typed it, and the one that it is meant to replace: what stood there when they began. */
export interface Typed {
  readonly mine: string;
  readonly replaced: string;
}

/** Whose text about what it is: an entity, or one of its columns. */
export function draftName(person: string, urn: string, column?: string): string {
  const name = `draft ${person} ${urn}`;
  return column === undefined ? name : `${name} ${column}`;
}

function isTyped(value: unknown): value is Typed {
  const typed = value as Partial<Typed> | null;
  return typeof typed?.mine === "string" && typeof typed.replaced === "string";
}

export function readDraft(name: string): Typed | null {
  try {
    const kept: unknown = JSON.parse(window.sessionStorage.getItem(name) ?? "null");
    return isTyped(kept) ? kept : null;
  } catch {
    return null;
  }
}

export function keepDraft(name: string, draft: Typed): void {
  try {
    window.sessionStorage.setItem(name, JSON.stringify(draft));
  } catch {
    // The browser keeps nothing, or has no room. The text is in the editor, and leaving it asks.
  }
}

export function dropDraft(name: string): void {
  try {
    window.sessionStorage.removeItem(name);
  } catch {
    // Nothing was kept either.
  }
}

/** What somebody wrote about the columns of an entity, by column. */
export function columnDrafts(person: string, urn: string): ReadonlyMap<string, Typed> {
  const beginning = draftName(person, urn, "");
  const found = new Map<string, Typed>();
  try {
    for (const name of Object.keys(window.sessionStorage)) {
      const draft = name.startsWith(beginning) ? readDraft(name) : null;
      if (draft !== null) found.set(name.slice(beginning.length), draft);
    }
  } catch {
    // Nothing is kept.
  }
  return found;
}
