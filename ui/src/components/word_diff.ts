// The difference of two texts in words: the shortest list of removals and additions (Myers, 1986).

export interface Piece {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
}

/** Beyond this many differing words a diff says nothing any more: all of the old goes, all of the new comes. */
const MOST_DIFFERENCES = 2_000;

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
    const reach = trace[depth] ?? new Map<number, number>();
    const diagonal = x - y;
    const down = goesDown(reach, diagonal, depth);
    const before = down ? diagonal + 1 : diagonal - 1;
    const beforeX = depth === 0 ? 0 : (reach.get(before) ?? 0);
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

const goesDown = (reach: ReadonlyMap<number, number>, diagonal: number, depth: number) =>
  diagonal === -depth || (diagonal !== depth && (reach.get(diagonal - 1) ?? -1) < (reach.get(diagonal + 1) ?? -1));

/** How far each diagonal reaches after each number of differences; `null` when there are too many. */
function search(old: readonly string[], fresh: readonly string[]): Array<Map<number, number>> | null {
  const most = Math.min(old.length + fresh.length, MOST_DIFFERENCES);
  const trace: Array<Map<number, number>> = [];
  let reach = new Map<number, number>([[1, 0]]);
  for (let depth = 0; depth <= most; depth += 1) {
    trace.push(new Map(reach));
    const next = new Map(reach);
    for (let diagonal = -depth; diagonal <= depth; diagonal += 2) {
      const down = goesDown(reach, diagonal, depth);
      let x = down ? (reach.get(diagonal + 1) ?? 0) : (reach.get(diagonal - 1) ?? 0) + 1;
      while (x < old.length && x - diagonal < fresh.length && old[x] === fresh[x - diagonal]) x += 1;
      next.set(diagonal, x);
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
      result.push(piece);
    }
  }
  flush();
  return result;
}
