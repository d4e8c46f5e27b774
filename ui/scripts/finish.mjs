// The last step of the build: compresses every file, so that the server only has to send it, and
// enforces the size budget.

import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const root = fileURLToPath(new URL("../../crates/page/files/built", import.meta.url));

/** Gzipped bytes that a browser loads before it can show the first page, whichever page that is. */
const FIRST_LOAD_LIMIT = 170 * 1000;
/** Gzipped bytes that each tool may add when it is opened. Every other chunk loaded on demand is a
 *  page that a user may open first. */
const ON_DEMAND = {
  "src/components/code_editor.tsx": 700 * 1000,
  "src/api_page/graphiql.tsx": 700 * 1000,
  "src/lineage/lineage.tsx": 60 * 1000,
};

const manifestPath = join(root, ".vite", "manifest.json");
const manifest = JSON.parse(readFileSync(manifestPath, "utf8"));
rmSync(join(root, ".vite"), { recursive: true });

const files = (directory) =>
  readdirSync(directory).flatMap((name) => {
    const path = join(directory, name);
    return statSync(path).isDirectory() ? files(path) : [path];
  });

const sizes = new Map();
for (const path of files(root)) {
  const content = readFileSync(path);
  const gzip = gzipSync(content, { level: 9 });
  const brotli = brotliCompressSync(content, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 11,
      [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    },
  });
  if (gzip.length < content.length) writeFileSync(`${path}.gz`, gzip);
  if (brotli.length < content.length) writeFileSync(`${path}.br`, brotli);
  sizes.set(path.slice(root.length + 1), gzip.length);
}

/** The files of a chunk and everything it imports. */
function filesOf(key, seen = new Set()) {
  const chunk = manifest[key];
  if (chunk === undefined || seen.has(key)) return [];
  seen.add(key);
  const imported = (chunk.imports ?? []).flatMap((name) => filesOf(name, seen));
  return [chunk.file, ...(chunk.css ?? []), ...imported];
}

const totalSize = (names) =>
  [...new Set(names)].reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0);
const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;

const entry = Object.keys(manifest).find((key) => manifest[key].isEntry);
const always = ["index.html", "favicon.svg", ...filesOf(entry)];
const entries = [["home and search", totalSize(always), FIRST_LOAD_LIMIT]];
/** Chunks that our own code loads on demand; chunks loaded by third-party tools are not checked. */
const chunks = (manifest[entry].dynamicImports ?? []).concat(Object.keys(ON_DEMAND));
for (const key of new Set(chunks)) {
  if (manifest[key] === undefined)
    throw new Error(`${key} is not part of the build: see ON_DEMAND in scripts/finish.mjs`);
  const added = filesOf(key).filter((name) => !always.includes(name));
  entries.push(
    key in ON_DEMAND
      ? [`${key}, on demand`, totalSize(added), ON_DEMAND[key]]
      : [`${key}, opened first`, totalSize([...always, ...added]), FIRST_LOAD_LIMIT],
  );
}
let isOverBudget = false;
for (const [name, size, limit] of entries) {
  const verdict = size > limit ? "TOO LARGE" : "ok";
  isOverBudget ||= size > limit;
  console.log(
    `${verdict.padEnd(9)} ${kilobytes(size).padStart(10)} of ${kilobytes(limit).padStart(10)}  ${name}`,
  );
}
if (isOverBudget) {
  console.error(
    "error: the page exceeds its size budget in scripts/finish.mjs; load rarely used code on demand",
  );
  process.exit(1);
}
