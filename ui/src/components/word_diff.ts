// The difference of two texts in words: the shortest list of removals and additions (Myers, 1986).

export interface Piece {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
}

/** Beyond this many differing words a diff says nothing any more: all of the old goes, all of the new comes. */
const MOST_DIFFERENCES = 1_000;

const wordsOf = (text: string) => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];

export function wordDiff(before: string, after: string): Piece[] {
  const old = wordsOf(before);
  const fresh = wordsOf(after);
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start += 1;
  let end = 0;
  while (
    end < old.length - start &&
    end < fresh.length - start &&
    old[old.length - 1 - end] === fresh[fresh.length - 1 - end]
  ) {
    end += 1;
  }
  const middle = differences(old.slice(start, old.length - end), fresh.slice(start, fresh.length - end));
  const same = (words: readonly string[]): Piece[] => [{ kind: "same", text: words.join("") }];
  return joined([...same(old.slice(0, start)), ...middle, ...same(old.slice(old.length - end))]);
}

function differences(old: readonly string[], fresh: readonly string[]): Piece[] {
  const trace = search(old, fresh);
  if (trace === null) {
    return [
      { kind: "removed", text: old.join("") },
      { kind: "added", text: fresh.join("") },
    ];
  }
  const pieces: Piece[] = [];
  let x = old.length;
  let y = fresh.length;
  for (let depth = trace.length - 1; depth >= 0; depth -= 1) {
    const reach = trace[depth] ?? new Int32Array();
    const diagonal = x - y;
    const down = goesDown(reach, diagonal, depth);
    const before = down ? diagonal + 1 : diagonal - 1;
    const beforeX = depth === 0 ? 0 : (reach[depth + before] ?? 0);
    const beforeY = depth === 0 ? 0 : beforeX - before;
    while (x > beforeX && y > beforeY) {
      x -= 1;
      y -= 1;
      pieces.push({ kind: "same", text: old[x] ?? "" });
    }
    if (depth > 0) {
      if (down) pieces.push({ kind: "added", text: fresh[beforeY] ?? "" });
      else pieces.push({ kind: "removed", text: old[beforeX] ?? "" });
    }
    x = beforeX;
    y = beforeY;
  }
  return pieces.reverse();
}

/** Whether the way to a diagonal comes from the one above it, by an addition. `reach` has the diagonals of the depth before, from
 *  `-depth` on. */
const goesDown = (reach: Int32Array, diagonal: number, depth: number) =>
  diagonal === -depth ||
  (diagonal !== depth && (reach[depth + diagonal - 1] ?? -1) < (reach[depth + diagonal + 1] ?? -1));

/** How far each diagonal reached before each number of differences; `null` when there are too many. */
function search(old: readonly string[], fresh: readonly string[]): readonly Int32Array[] | null {
  const most = Math.min(old.length + fresh.length, MOST_DIFFERENCES);
  const trace: Int32Array[] = [];
  // The way begins on the diagonal 0, as if it had come down from 1.
  let reach = new Int32Array([0, 0]);
  for (let depth = 0; depth <= most; depth += 1) {
    trace.push(reach);
    // With room for the diagonals beside the outermost, which the next depth looks at.
    const next = new Int32Array(2 * depth + 3).fill(-1);
    for (let diagonal = -depth; diagonal <= depth; diagonal += 2) {
      const down = goesDown(reach, diagonal, depth);
      let x = down ? (reach[depth + diagonal + 1] ?? 0) : (reach[depth + diagonal - 1] ?? 0) + 1;
      while (x < old.length && x - diagonal < fresh.length && old[x] === fresh[x - diagonal]) x += 1;
      next[depth + 1 + diagonal] = x;
      if (x >= old.length && x - diagonal >= fresh.length) return trace;
    }
    reach = next;
  }
  return null;
}

/** Neighbours of the same kind as one piece, removals before additions, so that a replaced phrase reads as one. */
function joined(pieces: readonly Piece[]): Piece[] {
  const result: Piece[] = [];
  let removed = "";
  let added = "";
  const flush = () => {
    if (removed !== "") result.push({ kind: "removed", text: removed });
    if (added !== "") result.push({ kind: "added", text: added });
    removed = "";
    added = "";
  };
  for (const piece of pieces) {
    if (piece.text === "") continue;
    if (piece.kind === "removed") removed += piece.text;
    else if (piece.kind === "added") added += piece.text;
    else if (piece.text.trim() === "" && removed !== "" && added !== "") {
      // A blank between two replaced words belongs to the replaced phrase.
      removed += piece.text;
      added += piece.text;
    } else {
      flush();
      const last = result.at(-1);
      if (last?.kind === "same") result[result.length - 1] = { kind: "same", text: last.text + piece.text };
      else result.push(piece);
    }
  }
  flush();
  return result;
}
