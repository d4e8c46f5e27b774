// Writes src/generated/operations.ts: for every operation in src/operations a document with the types of its variables and
// its result, from the schema files of the server. An operation that the schema does not allow is an error here.

import { readdirSync, readFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { codegen } from "@graphql-codegen/core";
import * as operationTypes from "@graphql-codegen/typescript-operations";
import { buildASTSchema, parse, print, visit } from "graphql";

const root = fileURLToPath(new URL("..", import.meta.url));
const schemaDirectory = join(root, "..", "crates", "graphql", "schema");
const operationsDirectory = join(root, "src", "operations");
const output = join(root, "src", "generated", "operations.ts");

const read = (directory) =>
  readdirSync(directory)
    .filter((name) => name.endsWith(".graphql"))
    .sort()
    .map((name) => ({ location: name, text: readFileSync(join(directory, name), "utf8") }));

const schema = parse(
  read(schemaDirectory)
    .map((file) => file.text)
    .join("\n"),
);
const documents = read(operationsDirectory).map((file) => ({
  location: file.location,
  document: parse(file.text),
}));

const types = await codegen({
  documents,
  schema,
  schemaAst: buildASTSchema(schema),
  filename: output,
  config: {
    scalars: { Long: "number" },
    enumsAsTypes: true,
    enumType: "string-literal",
    skipTypename: true,
    dedupeFragments: true,
    useTypeImports: true,
    immutableTypes: true,
  },
  plugins: [{ operationTypes: {} }],
  pluginMap: { operationTypes },
});

// The documents are sent as text, so no GraphQL library is part of the page; each carries the fragments that it uses.
const fragments = new Map();
const operations = [];
for (const { document } of documents) {
  for (const definition of document.definitions) {
    if (definition.kind === "FragmentDefinition") fragments.set(definition.name.value, definition);
    else operations.push(definition);
  }
}

function fragmentsOf(definition, found = new Map()) {
  visit(definition, {
    FragmentSpread(node) {
      const name = node.name.value;
      const fragment = fragments.get(name);
      if (fragment !== undefined && !found.has(name)) {
        found.set(name, fragment);
        fragmentsOf(fragment, found);
      }
    },
  });
  return found;
}

const compact = (text) => text.replace(/\s+/g, " ");
const constants = operations.map((operation) => {
  const name = operation.name.value;
  const suffix = operation.operation === "query" ? "Query" : "Mutation";
  const text = [operation, ...fragmentsOf(operation).values()].map(print).join(" ");
  return `export const ${name}Document = new Operation<${name}${suffix}, ${name}${suffix}Variables>(\n  ${JSON.stringify(compact(text))},\n);`;
});

mkdirSync(join(root, "src", "generated"), { recursive: true });
writeFileSync(
  output,
  `// Made by scripts/generate.mjs; not to be edited.\nimport { Operation } from "../api/operation.ts";\n\n${types}\n\n${constants.join("\n\n")}\n`,
);
