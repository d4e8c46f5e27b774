// Unsaved text, stored in the browser tab until it is saved or discarded. It survives a reload, a
// crash of the page and a phone that unloads the tab to save memory.

/** Text as typed, and the saved text it is based on. */
export interface Draft {
  readonly text: string;
  readonly base: string;
}

/** The storage key of a user's draft for an entity or one of its columns. */
export function draftKey(user: string, urn: string, column?: string): string {
  const key = `draft ${user} ${urn}`;
  return column === undefined ? key : `${key} ${column}`;
}

function isDraft(value: unknown): value is Draft {
  const draft = value as Partial<Draft> | null;
  return typeof draft?.text === "string" && typeof draft.base === "string";
}

export function readDraft(key: string): Draft | null {
  try {
    const stored: unknown = JSON.parse(window.sessionStorage.getItem(key) ?? "null");
    return isDraft(stored) ? stored : null;
  } catch {
    return null;
  }
}

export function saveDraft(key: string, draft: Draft): void {
  try {
    window.sessionStorage.setItem(key, JSON.stringify(draft));
  } catch {
    // Storage is blocked or full. The text is still in the editor, and leaving asks first.
  }
}

export function deleteDraft(key: string): void {
  try {
    window.sessionStorage.removeItem(key);
  } catch {
    // Storage is blocked, so nothing was stored.
  }
}

/** A user's drafts for the columns of an entity, by column. */
export function columnDrafts(user: string, urn: string): ReadonlyMap<string, Draft> {
  const prefix = draftKey(user, urn, "");
  const drafts = new Map<string, Draft>();
  try {
    for (const key of Object.keys(window.sessionStorage)) {
      const draft = key.startsWith(prefix) ? readDraft(key) : null;
      if (draft !== null) drafts.set(key.slice(prefix.length), draft);
    }
  } catch {
    // Storage is blocked.
  }
  return drafts;
}
