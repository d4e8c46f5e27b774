// Field paths. Nested fields are written as `address.city`, or with type annotations between the
// names: `[version=2.0].[type=struct].address.[type=string].city`.

const ANNOTATION = /^\[[^\]]*\]$/;

/** The names in a path, without type annotations. */
export function segmentsOf(path: string): string[] {
  const parts: string[] = [];
  let part = "";
  let depth = 0;
  for (const character of path) {
    if (character === "[") depth += 1;
    if (character === "]") depth -= 1;
    if (character === "." && depth <= 0) {
      parts.push(part);
      part = "";
    } else {
      part += character;
    }
  }
  parts.push(part);
  const names = parts.filter((name) => !ANNOTATION.test(name));
  return names.length === 0 ? [path] : names;
}

export const readablePath = (path: string) =>
  path.startsWith("[version=") ? segmentsOf(path).join(".") : path;

/** The last name of a path: how columns of nested records are found in other datasets. */
export const columnName = (path: string) => segmentsOf(path).at(-1) ?? path;
