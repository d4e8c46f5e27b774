// Word-level diff of two texts: the shortest edit script (Myers, 1986).

export interface DiffPart {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
}

/** With more differing words a diff is unreadable, so the whole text is shown as replaced. */
const MAX_DIFFERENCES = 1_000;

const wordsOf = (text: string) => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];

export function wordDiff(before: string, after: string): DiffPart[] {
  const old = wordsOf(before);
  const updated = wordsOf(after);
  let start = 0;
  while (start < old.length && start < updated.length && old[start] === updated[start]) start += 1;
  let end = 0;
  while (
    end < old.length - start &&
    end < updated.length - start &&
    old[old.length - 1 - end] === updated[updated.length - 1 - end]
  ) {
    end += 1;
  }
  const middle = differences(
    old.slice(start, old.length - end),
    updated.slice(start, updated.length - end),
  );
  const same = (words: readonly string[]): DiffPart[] => [{ kind: "same", text: words.join("") }];
  return merge([...same(old.slice(0, start)), ...middle, ...same(old.slice(old.length - end))]);
}

function differences(old: readonly string[], updated: readonly string[]): DiffPart[] {
  const trace = search(old, updated);
  if (trace === null) {
    return [
      { kind: "removed", text: old.join("") },
      { kind: "added", text: updated.join("") },
    ];
  }
  const parts: DiffPart[] = [];
  let x = old.length;
  let y = updated.length;
  for (let depth = trace.length - 1; depth >= 0; depth -= 1) {
    const reach = trace[depth] ?? new Int32Array();
    const diagonal = x - y;
    const down = isAddition(reach, diagonal, depth);
    const before = down ? diagonal + 1 : diagonal - 1;
    const beforeX = depth === 0 ? 0 : (reach[depth + before] ?? 0);
    const beforeY = depth === 0 ? 0 : beforeX - before;
    while (x > beforeX && y > beforeY) {
      x -= 1;
      y -= 1;
      parts.push({ kind: "same", text: old[x] ?? "" });
    }
    if (depth > 0) {
      if (down) parts.push({ kind: "added", text: updated[beforeY] ?? "" });
      else parts.push({ kind: "removed", text: old[beforeX] ?? "" });
    }
    x = beforeX;
    y = beforeY;
  }
  return parts.reverse();
}

/** Whether the path reaches a diagonal from the one above it, by an addition. `reach` has the
 *  diagonals of the previous depth, starting at `-depth`. */
const isAddition = (reach: Int32Array, diagonal: number, depth: number) =>
  diagonal === -depth ||
  (diagonal !== depth && (reach[depth + diagonal - 1] ?? -1) < (reach[depth + diagonal + 1] ?? -1));

/** The furthest point on each diagonal for each number of differences; `null` if there are too
 *  many. */
function search(old: readonly string[], updated: readonly string[]): readonly Int32Array[] | null {
  const limit = Math.min(old.length + updated.length, MAX_DIFFERENCES);
  const trace: Int32Array[] = [];
  // Start on diagonal 0, as if reached from diagonal 1.
  let reach = new Int32Array([0, 0]);
  for (let depth = 0; depth <= limit; depth += 1) {
    trace.push(reach);
    // Includes the diagonals next to the outermost, which the next depth reads.
    const next = new Int32Array(2 * depth + 3).fill(-1);
    for (let diagonal = -depth; diagonal <= depth; diagonal += 2) {
      const down = isAddition(reach, diagonal, depth);
      let x = down ? (reach[depth + diagonal + 1] ?? 0) : (reach[depth + diagonal - 1] ?? 0) + 1;
      while (x < old.length && x - diagonal < updated.length && old[x] === updated[x - diagonal])
        x += 1;
      next[depth + 1 + diagonal] = x;
      if (x >= old.length && x - diagonal >= updated.length) return trace;
    }
    reach = next;
  }
  return null;
}

/** Merges adjacent parts of the same kind, removals before additions, so that a replaced phrase
 *  reads as one. */
function merge(parts: readonly DiffPart[]): DiffPart[] {
  const result: DiffPart[] = [];
  let removed = "";
  let added = "";
  const flush = () => {
    if (removed !== "") result.push({ kind: "removed", text: removed });
    if (added !== "") result.push({ kind: "added", text: added });
    removed = "";
    added = "";
  };
  for (const part of parts) {
    if (part.text === "") continue;
    if (part.kind === "removed") removed += part.text;
    else if (part.kind === "added") added += part.text;
    else if (part.text.trim() === "" && removed !== "" && added !== "") {
      // White space between two replaced words belongs to the phrase.
      removed += part.text;
      added += part.text;
    } else {
      flush();
      const last = result.at(-1);
      if (last?.kind === "same")
        result[result.length - 1] = { kind: "same", text: last.text + part.text };
      else result.push(part);
    }
  }
  flush();
  return result;
}
