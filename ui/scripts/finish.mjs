// The last step of the build: compresses every file, so that the server has nothing to do but to send it, and holds the
// page to its budget. A page that became too heavy is a failed build, not a surprise.

import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const root = fileURLToPath(new URL("../../crates/page/files/built", import.meta.url));

/** Bytes as gzip: what a browser fetches before the page that was asked for can be used, whichever it is. */
const FIRST_LOAD_LIMIT = 170 * 1000;
/** What may be loaded on top when it is opened. */
const ON_DEMAND_LIMIT = 700 * 1000;
/** Tools that are worth waiting for: the editor, and the GraphQL explorer. Everything else that is loaded on demand is a page
 *  that somebody may open first. */
const ON_DEMAND = ["src/components/code_editor.tsx", "src/pages/explorer.tsx"];

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
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length },
  });
  if (gzip.length < content.length) writeFileSync(`${path}.gz`, gzip);
  if (brotli.length < content.length) writeFileSync(`${path}.br`, brotli);
  sizes.set(path.slice(root.length + 1), gzip.length);
}

/** A chunk with everything that must be there before it can run. */
function load(key, seen = new Set()) {
  const chunk = manifest[key];
  if (chunk === undefined || seen.has(key)) return [];
  seen.add(key);
  const imported = (chunk.imports ?? []).flatMap((name) => load(name, seen));
  return [chunk.file, ...(chunk.css ?? []), ...imported];
}

const weigh = (names) => [...new Set(names)].reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0);
const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;

const entry = Object.keys(manifest).find((key) => manifest[key].isEntry);
const always = ["index.html", "favicon.svg", ...load(entry)];
const entries = [["home and search", weigh(always), FIRST_LOAD_LIMIT]];
/** What our own code loads on demand; what the tools load in their turn is theirs. */
const parts = (manifest[entry].dynamicImports ?? []).concat(ON_DEMAND);
for (const key of new Set(parts)) {
  if (manifest[key] === undefined)
    throw new Error(`${key} is no part of the build: see ON_DEMAND in scripts/finish.mjs`);
  const more = load(key).filter((name) => !always.includes(name));
  entries.push(
    ON_DEMAND.includes(key)
      ? [`${key}, on demand`, weigh(more), ON_DEMAND_LIMIT]
      : [`${key}, opened first`, weigh([...always, ...more]), FIRST_LOAD_LIMIT],
  );
}
let isTooHeavy = false;
for (const [name, size, limit] of entries) {
  const verdict = size > limit ? "TOO HEAVY" : "ok";
  isTooHeavy ||= size > limit;
  console.log(`${verdict.padEnd(9)} ${kilobytes(size).padStart(10)} of ${kilobytes(limit).padStart(10)}  ${name}`);
}
if (isTooHeavy) {
  console.error("error: the page is heavier than its budget in scripts/finish.mjs; load what is rarely used on demand");
  process.exit(1);
}
