// The real program with the sample catalog, for stories in a real browser. Each worker has a server and a store of its own.

import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { test as base, expect, type Locator, type Page, type Request } from "@playwright/test";

const PASSWORD = "a password for the stories";
export const USER = "datahub";

/** How a story talks to the server behind the page's back. */
export interface Docent {
  readonly address: string;
  readonly password: string;
  /** Runs a GraphQL document as another person than the one at the page. */
  ask<Result = unknown>(query: string, variables?: Readonly<Record<string, unknown>>): Promise<Result>;
  /** Writes an aspect as ingestion does. */
  ingest(urn: string, aspect: string, value: unknown): Promise<void>;
  /** Deletes an entity with everything that is known about it. */
  remove(urn: string): Promise<void>;
}

interface Fixtures {
  /** Errors in the console that a story provokes. */
  readonly expectedErrors: RegExp | null;
  /** A page of somebody who is signed in. */
  readonly page: Page;
}

interface WorkerFixtures {
  readonly docent: Docent;
  readonly cookies: ReadonlyArray<{ name: string; value: string; url: string }>;
}

/** Marks a story that writes: it runs on every engine. */
export const WRITES = { tag: "@writes" };

export const test = base.extend<Fixtures, WorkerFixtures>({
  docent: [
    async ({}, use) => {
      const directory = mkdtempSync(join(tmpdir(), "docent-page-"));
      const store = await emptyStore(directory);
      const started = await start(directory, store.url);
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
  page: async ({ context, cookies, expectedErrors }, use) => {
    await context.addCookies([...cookies]);
    const page = await context.newPage();
    // A page that has an error in its console is not right, whatever it shows.
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("console", (message) => {
      const text = message.text();
      // What the server refuses, or does not answer, is part of the stories.
      if (message.type() !== "error" || text.startsWith("Failed to load resource")) return;
      if (expectedErrors?.test(text) !== true) errors.push(text);
    });
    await use(page);
    if (errors.length > 0) throw new Error(`the page had errors: ${errors.join("\n")}`);
  },
});

export { expect };

interface Started {
  readonly docent: Docent;
  readonly process: ChildProcess;
}

interface EmptyStore {
  readonly url: string;
  readonly remove: () => Promise<void>;
}

/** A store of the engine that the stories are run with (`DOCENT_TEST_STORE`). */
async function emptyStore(directory: string): Promise<EmptyStore> {
  const engine = process.env["DOCENT_TEST_STORE"] || "sqlite";
  if (engine === "sqlite") return { url: `sqlite:${join(directory, "docent.db")}`, remove: async () => {} };
  if (engine !== "postgres") throw new Error(`DOCENT_TEST_STORE is ${engine}: it is sqlite or postgres`);
  const program = process.env["DOCENT_TEST_DATABASE"] ?? "../target/debug/examples/database";
  // It keeps the database until its input ends.
  const keeper = spawn(program, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise<void>((resolve) => keeper.on("exit", () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    let said = "";
    keeper.stdout.on("data", (piece: Buffer) => {
      said += piece.toString();
      if (said.includes("\n")) resolve(said.trim());
    });
    keeper.on("error", reject);
    keeper.on("exit", (code) => reject(new Error(`${program} ended with ${code} before it named a database`)));
  });
  const remove = () => {
    keeper.stdin.end();
    return ended;
  };
  return { url, remove };
}

function start(directory: string, store: string): Promise<Started> {
  const binary = process.env["DOCENT_TEST_BINARY"] ?? "../target/debug/docent";
  const passwordFile = join(directory, "password");
  writeFileSync(passwordFile, PASSWORD);
  const child = spawn(
    binary,
    ["serve", "--demo", "--listen", "127.0.0.1:0", "--store", store, "--admin-password-file", passwordFile],
    { cwd: directory, stdio: ["ignore", "pipe", "pipe"] },
  );
  return new Promise((resolve, reject) => {
    let said = "";
    const listen = (piece: Buffer) => {
      said += piece.toString();
      const address = /listening on (http:\/\/\S+)/.exec(said)?.[1];
      const token = /token: (\S+)/.exec(said)?.[1];
      if (address !== undefined && token !== undefined) {
        resolve({ docent: speaker(address, token), process: child });
      }
    };
    child.stdout.on("data", listen);
    child.stderr.on("data", listen);
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`docent ended with ${code} before it listened:\n${said}`)));
  });
}

function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.removeAllListeners("exit");
    child.on("exit", () => resolve());
    child.kill("SIGTERM");
  });
}

function speaker(address: string, token: string): Docent {
  const send = async (method: string, path: string, body?: unknown): Promise<Response> => {
    const reply = await fetch(`${address}${path}`, {
      method,
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
    return reply;
  };
  const post = async (path: string, body: unknown): Promise<unknown> => (await send("POST", path, body)).json();
  return {
    address,
    password: PASSWORD,
    async ask<Result>(query: string, variables: Readonly<Record<string, unknown>> = {}) {
      const reply = (await post("/api/graphql", { query, variables })) as { data: Result; errors?: unknown };
      if (reply.errors !== undefined) throw new Error(JSON.stringify(reply.errors));
      return reply.data;
    },
    async ingest(urn, aspect, value) {
      const entityType = urn.split(":")[2];
      const content = { value: JSON.stringify(value), contentType: "application/json" };
      await post("/aspects?action=ingestProposal", {
        proposal: { entityType, entityUrn: urn, changeType: "UPSERT", aspectName: aspect, aspect: content },
      });
    },
    async remove(urn) {
      await send("DELETE", `/openapi/v3/entity/${urn.split(":")[2]}/${encodeURIComponent(urn)}`);
    },
  };
}

/** A dataset of the sample catalog, or one like them. */
export const datasetUrn = (platform: string, name: string) =>
  `urn:li:dataset:(urn:li:dataPlatform:${platform},${name},PROD)`;

/** A dialog or a form hears keys once one of its fields or buttons has the focus. */
export async function hearsKeys(place: Locator, part = "") {
  await expect(place.locator(`${part}:focus`)).toHaveCount(1);
}

/** Keeps requests to the API from the server until what is answered is called: all of them, or those that are meant. */
export async function holdRequests(page: Page, isMeant: (request: Request) => boolean = () => true) {
  let goOn = () => {};
  const held = new Promise<void>((resolve) => (goOn = resolve));
  await page.route("**/api/graphql", async (route) => {
    if (isMeant(route.request())) await held;
    await route.continue();
  });
  return () => goOn();
}
