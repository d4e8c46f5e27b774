// Paths of columns. Ingestion writes nested fields as `address.city`, or with the types between the names:
// `[version=2.0].[type=struct].address.[type=string].city`.

const MARK = /^\[[^\]]*\]$/;

/** The names on the way to a field, without the types between them. */
export function stepsOf(path: string): string[] {
  const parts: string[] = [];
  let part = "";
  let depth = 0;
  for (const letter of path) {
    if (letter === "[") depth += 1;
    if (letter === "]") depth -= 1;
    if (letter === "." && depth <= 0) {
      parts.push(part);
      part = "";
    } else {
      part += letter;
    }
  }
  parts.push(part);
  const names = parts.filter((name) => !MARK.test(name));
  return names.length === 0 ? [path] : names;
}

export const readablePath = (path: string) => (path.startsWith("[version=") ? stepsOf(path).join(".") : path);
