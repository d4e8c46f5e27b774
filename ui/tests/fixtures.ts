// Fixtures for the browser tests. Each worker starts the real server with the sample catalog and
// its own store.

import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  test as base,
  expect,
  type BrowserContext,
  type Locator,
  type Page,
  type Request,
} from "@playwright/test";

const PASSWORD = "a password for the tests";
export const USER = "datahub";

/** A client for the server, independent of the page. */
export interface Docent {
  readonly address: string;
  readonly password: string;
  /** An access token of the administrator. */
  readonly token: string;
  /** Runs a GraphQL document in a separate session. */
  graphql<Result = unknown>(
    query: string,
    variables?: Readonly<Record<string, unknown>>,
  ): Promise<Result>;
  /** Writes an aspect through the ingestion API. */
  ingest(urn: string, aspect: string, value: unknown): Promise<void>;
  /** Deletes an entity with all its aspects. */
  remove(urn: string): Promise<void>;
}

interface Fixtures {
  /** Console errors that a test provokes. */
  readonly expectedErrors: RegExp | null;
  /** A page with a signed-in user. */
  readonly page: Page;
}

interface WorkerFixtures {
  /** Settings of the server besides those of all tests, such as `{ "webhook-retry": "1s" }`. */
  readonly serverSettings: Readonly<Record<string, string>>;
  readonly docent: Docent;
  readonly cookies: ReadonlyArray<{ name: string; value: string; url: string }>;
}

/** Tags a test that writes: it runs on every storage engine. */
export const WRITES = { tag: "@writes" };

export const test = base.extend<Fixtures, WorkerFixtures>({
  serverSettings: [{}, { option: true, scope: "worker" }],
  docent: [
    async ({ serverSettings }, use) => {
      const directory = mkdtempSync(join(tmpdir(), "docent-page-"));
      const store = await emptyStore(directory);
      const settings = Object.entries(serverSettings);
      const more = settings.flatMap(([name, value]) => [`--${name}`, value]);
      const started = await start(directory, store.url, more);
      await use(started.docent);
      await stop(started.process);
      await store.remove();
      rmSync(directory, { recursive: true, force: true });
    },
    { scope: "worker", timeout: 60_000 },
  ],
  cookies: [
    async ({ docent }, use) => {
      const reply = await fetch(`${docent.address}/logIn`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ username: USER, password: docent.password }),
      });
      const cookies = reply.headers.getSetCookie().map((line) => {
        const [pair = ""] = line.split(";");
        const [name = "", ...value] = pair.split("=");
        return { name, value: value.join("="), url: docent.address };
      });
      await use(cookies);
    },
    { scope: "worker" },
  ],
  baseURL: async ({ docent }, use) => use(docent.address),
  expectedErrors: [null, { option: true }],
  context: async ({ context, docent }, use) => {
    await serveBuiltPage(context, docent.address);
    await use(context);
  },
  page: async ({ context, cookies, expectedErrors }, use) => {
    await context.addCookies([...cookies]);
    const page = await context.newPage();
    // Any console error fails the test.
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("console", (message) => {
      const text = message.text();
      // Failed requests are part of some tests.
      if (message.type() !== "error" || text.startsWith("Failed to load resource")) return;
      if (expectedErrors?.test(text) !== true) errors.push(text);
    });
    await use(page);
    if (errors.length > 0) throw new Error(`the page had errors: ${errors.join("\n")}`);
  },
});

export { expect };

/** Answers requests for the page's files from the directory `DOCENT_TEST_PAGE`, if it is set, instead
 *  of the binary, so that changes of the page can be tested without building the binary again. */
export async function serveBuiltPage(context: BrowserContext, address: string) {
  const built = process.env["DOCENT_TEST_PAGE"];
  if (built === undefined) return;
  await context.route(`${address}/**`, async (route) => {
    const { pathname } = new URL(route.request().url());
    const file = join(built, pathname);
    if (pathname !== "/" && existsSync(file)) {
      await route.fulfill({ path: file });
    } else if (route.request().resourceType() === "document") {
      const response = await route.fetch({ maxRedirects: 0 });
      await route.fulfill({ response, path: join(built, "index.html") });
    } else {
      await route.fallback();
    }
  });
}

interface Started {
  readonly docent: Docent;
  readonly process: ChildProcess;
}

interface EmptyStore {
  readonly url: string;
  readonly remove: () => Promise<void>;
}

/** A store on the engine under test (`DOCENT_TEST_STORE`). */
async function emptyStore(directory: string): Promise<EmptyStore> {
  const engine = process.env["DOCENT_TEST_STORE"] || "sqlite";
  if (engine === "sqlite")
    return { url: `sqlite:${join(directory, "docent.db")}`, remove: async () => {} };
  if (engine !== "postgres")
    throw new Error(`DOCENT_TEST_STORE is ${engine}, expected sqlite or postgres`);
  const program = process.env["DOCENT_TEST_DATABASE"] ?? "../target/debug/examples/database";
  // The process keeps the database until its standard input closes.
  const holder = spawn(program, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise<void>((resolve) => holder.on("exit", () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    let output = "";
    holder.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes("\n")) resolve(output.trim());
    });
    holder.on("error", reject);
    holder.on("exit", (code) =>
      reject(new Error(`${program} exited with ${code} before it printed a database URL`)),
    );
  });
  const remove = () => {
    holder.stdin.end();
    return ended;
  };
  return { url, remove };
}

export function start(
  directory: string,
  store: string,
  more: readonly string[] = [],
): Promise<Started> {
  const binary = process.env["DOCENT_TEST_BINARY"] ?? "../target/debug/docent";
  const passwordFile = join(directory, "password");
  writeFileSync(passwordFile, PASSWORD);
  const keyFile = join(directory, "secrets.key");
  writeFileSync(keyFile, randomBytes(32).toString("base64"), { mode: 0o600 });
  const child = spawn(
    binary,
    [
      "serve",
      "--demo",
      "--listen",
      "127.0.0.1:0",
      "--store",
      store,
      "--admin-password-file",
      passwordFile,
      "--secret-key-file",
      keyFile,
      "--webhook-allow-private",
      "127.0.0.0/8",
      ...more,
    ],
    { cwd: directory, stdio: ["ignore", "pipe", "pipe"] },
  );
  return new Promise((resolve, reject) => {
    let output = "";
    const onOutput = (chunk: Buffer) => {
      output += chunk.toString();
      const address = /listening on (http:\/\/\S+)/.exec(output)?.[1];
      const token = /token: (\S+)/.exec(output)?.[1];
      if (address !== undefined && token !== undefined) {
        resolve({ docent: createClient(address, token), process: child });
      }
    };
    child.stdout.on("data", onOutput);
    child.stderr.on("data", onOutput);
    child.on("error", reject);
    child.on("exit", (code) =>
      reject(new Error(`docent exited with ${code} before it listened:\n${output}`)),
    );
  });
}

export function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.removeAllListeners("exit");
    child.on("exit", () => resolve());
    child.kill("SIGTERM");
  });
}

function createClient(address: string, token: string): Docent {
  const send = async (method: string, path: string, body?: unknown): Promise<Response> => {
    const reply = await fetch(`${address}${path}`, {
      method,
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
    return reply;
  };
  const post = async (path: string, body: unknown): Promise<unknown> =>
    (await send("POST", path, body)).json();
  return {
    address,
    password: PASSWORD,
    token,
    async graphql<Result>(query: string, variables: Readonly<Record<string, unknown>> = {}) {
      const reply = (await post("/api/graphql", { query, variables })) as {
        data: Result;
        errors?: unknown;
      };
      if (reply.errors !== undefined) throw new Error(JSON.stringify(reply.errors));
      return reply.data;
    },
    async ingest(urn, aspect, value) {
      const entityType = urn.split(":")[2];
      const content = { value: JSON.stringify(value), contentType: "application/json" };
      await post("/aspects?action=ingestProposal", {
        proposal: {
          entityType,
          entityUrn: urn,
          changeType: "UPSERT",
          aspectName: aspect,
          aspect: content,
        },
      });
    },
    async remove(urn) {
      await send("DELETE", `/openapi/v3/entity/${urn.split(":")[2]}/${encodeURIComponent(urn)}`);
    },
  };
}

/** The URN of a dataset, in the sample catalog or created by a test. */
export const datasetUrn = (platform: string, name: string) =>
  `urn:li:dataset:(urn:li:dataPlatform:${platform},${name},PROD)`;

/** Opens a list from the navigation. */
export async function browse(page: Page, name: string) {
  const navigation = page.getByRole("navigation", { name: "Main" });
  await navigation.getByRole("button", { name: "Browse" }).click();
  await page.getByRole("menuitem", { name, exact: true }).click();
}

/** Waits until an element inside has the focus, so that key presses reach it. */
export async function expectFocusInside(container: Locator, selector = "") {
  await expect(container.locator(`${selector}:focus`)).toHaveCount(1);
}

/** Holds API requests, or those that match, until the returned function is called. */
export async function holdRequests(
  page: Page,
  matches: (request: Request) => boolean = () => true,
) {
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/api/graphql", async (route) => {
    if (matches(route.request())) await released;
    await route.continue();
  });
  return () => release();
}

/** How many results a search has. */
export const resultCount = (page: Page) =>
  page.getByRole("status").filter({ hasText: /\d results?$/ });
