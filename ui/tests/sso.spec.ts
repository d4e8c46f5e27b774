// Signing in at a real OpenID Connect provider on this machine, and its bearer tokens.

import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { test as base, expect, type Page } from "@playwright/test";

import {
  AUDIENCE,
  CLIENT_SECRET,
  PIPELINE,
  freePort,
  startProvider,
  type IdentityProvider,
} from "./identity_provider.ts";

interface Catalog {
  readonly address: string;
  readonly provider: IdentityProvider;
  /** Runs a GraphQL document as the administrator. */
  graphql(query: string): Promise<Record<string, unknown>>;
}

const PASSWORD = "a password for the tests";

/** A catalog with two providers: one that works, and one that cannot be reached. */
const test = base.extend<object, { catalog: Catalog }>({
  catalog: [
    async ({}, use) => {
      const directory = mkdtempSync(join(tmpdir(), "docent-sso-"));
      const port = await freePort();
      const address = `http://127.0.0.1:${port}`;
      const provider = await startProvider(address);
      const child = await startDocent(directory, port, provider.issuer);
      const cookie = await sessionOf(address);
      await use({
        address,
        provider,
        async graphql(query) {
          const reply = await request(address, query, { Cookie: cookie });
          return (await reply.json()) as Record<string, unknown>;
        },
      });
      child.kill("SIGTERM");
      await new Promise((resolve) => child.on("exit", resolve));
      await provider.stop();
      rmSync(directory, { recursive: true, force: true });
    },
    { scope: "worker", timeout: 60_000 },
  ],
});

async function startDocent(directory: string, port: number, issuer: string): Promise<ChildProcess> {
  const write = (name: string, text: string) => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const secret = write("secret", `${CLIENT_SECRET}\n`);
  const config = write(
    "docent.toml",
    `public-url = "http://127.0.0.1:${port}"

[[oidc]]
name = "Example"
issuer = "${issuer}"
client-id = "docent"
client-secret-file = "${secret}"
scopes = "openid profile email groups"
groups-claim = "groups"

[[oidc]]
id = "down"
name = "Down"
issuer = "http://127.0.0.1:9"
client-id = "docent"

[[jwt]]
issuer = "${issuer}"
audience = "${AUDIENCE}"
`,
  );
  const child = spawn(
    process.env["DOCENT_TEST_BINARY"] ?? "../target/debug/docent",
    ["serve", "--config", config, "--listen", `127.0.0.1:${port}`].concat(
      ["--store", `sqlite:${join(directory, "docent.db")}`],
      ["--admin-password-file", write("password", PASSWORD)],
    ),
    { cwd: directory, stdio: ["ignore", "pipe", "pipe"] },
  );
  await new Promise<void>((resolve, reject) => {
    let output = "";
    const onOutput = (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes("is listening on")) resolve();
    };
    child.stdout.on("data", onOutput);
    child.stderr.on("data", onOutput);
    child.on("exit", (code) => reject(new Error(`docent exited with ${code}:\n${output}`)));
  });
  child.removeAllListeners("exit");
  return child;
}

async function sessionOf(address: string): Promise<string> {
  const reply = await fetch(`${address}/logIn`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ username: "datahub", password: PASSWORD }),
  });
  return reply.headers
    .getSetCookie()
    .map((line) => line.split(";")[0])
    .join("; ");
}

const request = (address: string, query: string, headers: Record<string, string>) =>
  fetch(`${address}/api/graphql`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify({ query }),
  });

/** Signs in at the provider, and consents. */
async function signInAtProvider(page: Page, user: string) {
  await page.getByPlaceholder("Enter any login").fill(user);
  await page.getByPlaceholder("and password").fill("anything");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
}

test("a user signs in at the provider, with groups, and signs out there too", async ({
  page,
  catalog,
}) => {
  await page.goto(`${catalog.address}/domains`);
  await page.getByRole("link", { name: "Sign in with Example" }).click();
  await signInAtProvider(page, "ada");
  await expect(page.getByRole("heading", { name: "Domains" })).toBeVisible();
  expect(page.url()).toBe(`${catalog.address}/domains`);
  await expect(
    page.getByRole("button", { name: "Account menu for ada of the provider" }),
  ).toBeVisible();

  const reply = await catalog.graphql(`{ corpUser(urn: "urn:li:corpuser:ada") {
    properties { displayName email } status isNativeUser
    groups: relationships(input: { types: ["IsMemberOfGroup"], direction: OUTGOING, start: 0, count: 10 }) {
      relationships { entity { urn ... on CorpGroup { properties { displayName } origin { type externalType } } } }
    } } }`);
  const { corpUser } = reply["data"] as { corpUser: Record<string, any> };
  expect(corpUser["properties"]).toEqual({
    displayName: "ada of the provider",
    email: "ada@example.com",
  });
  expect(corpUser["isNativeUser"]).toBe(false);
  const groups = corpUser["groups"].relationships.map((it: any) => it.entity);
  expect(groups.map((group: any) => group.urn).sort()).toEqual([
    "urn:li:corpGroup:friends of ada",
    "urn:li:corpGroup:stewards",
  ]);
  expect(groups[0].origin).toEqual({ type: "EXTERNAL", externalType: "oidc" });

  await page.getByRole("button", { name: /Account menu for/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await expect(page).toHaveURL(/\/session\/end\?.*id_token_hint=ey/);
  await page.getByRole("button", { name: "Yes, sign me out" }).click();
  await expect(page.getByRole("link", { name: "Sign in with Example" })).toBeVisible();
  // The session at the provider has ended, too: it asks again.
  await page.getByRole("link", { name: "Sign in with Example" }).click();
  await expect(page.getByPlaceholder("Enter any login")).toBeVisible();
});

test("failures lead back to the sign-in page, with the reason", async ({ page, catalog }) => {
  await page.goto(`${catalog.address}/`);
  await page.getByRole("link", { name: "Sign in with Down" }).click();
  await expect(page.getByRole("alert")).toContainText("cannot be reached");
  await page.getByRole("link", { name: "Sign in with Example" }).click();
  await page.getByRole("link", { name: "[ Cancel ]" }).click();
  await expect(page.getByRole("alert")).toContainText("did not sign you in");
  // The user of the first start is nobody's user at a provider.
  await page.getByRole("link", { name: "Sign in with Example" }).click();
  await signInAtProvider(page, "datahub");
  await expect(page.getByRole("alert")).toContainText("cannot be used here");
  await page.goto(`${catalog.address}/callback/oidc?code=x&state=y`);
  await expect(page.getByRole("alert")).toContainText("took too long");
  await page.goto(`${catalog.address}/sso/nobody`);
  await expect(page.getByRole("alert")).toContainText("not set up");
});

test("an account with a password is not signed in by the provider", async ({ page, catalog }) => {
  const reply = await catalog.graphql("mutation { createInviteToken(input: {}) { inviteToken } }");
  const data = reply["data"] as { createInviteToken: { inviteToken: string } };
  const signedUp = await fetch(`${catalog.address}/signUp`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      userUrn: "urn:li:corpuser:linda",
      fullName: "Somebody else",
      email: "else@example.com",
      password: PASSWORD,
      inviteToken: data.createInviteToken.inviteToken,
    }),
  });
  expect(signedUp.status).toBe(200);
  await page.goto(`${catalog.address}/`);
  await page.getByRole("link", { name: "Sign in with Example" }).click();
  await signInAtProvider(page, "linda");
  await expect(page.getByRole("alert")).toContainText("Ask an administrator to link it");
});

test("a suspended user cannot come back through the provider", async ({ page, catalog }) => {
  await page.goto(`${catalog.address}/`);
  await page.getByRole("link", { name: "Sign in with Example" }).click();
  await signInAtProvider(page, "eve");
  await expect(page.getByRole("button", { name: /Account menu for eve/ })).toBeVisible();
  await catalog.graphql(
    'mutation { updateUserStatus(urn: "urn:li:corpuser:eve", status: SUSPENDED) }',
  );
  await page.goto(`${catalog.address}/sso/oidc`);
  await expect(page.getByRole("alert")).toContainText("suspended");
});

/** A browser without pages: follows redirects itself, and keeps cookies by host. */
class Browser {
  readonly #cookies = new Map<string, Map<string, string>>();

  async send(url: string, form?: Record<string, string>): Promise<Response> {
    const { host } = new URL(url);
    const jar = this.#cookies.get(host) ?? new Map<string, string>();
    this.#cookies.set(host, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const reply = await fetch(url, {
      redirect: "manual",
      headers: { Cookie: cookie },
      ...(form === undefined ? {} : { method: "POST", body: new URLSearchParams(form) }),
    });
    for (const line of reply.headers.getSetCookie()) {
      const [pair = ""] = line.split(";");
      const at = pair.indexOf("=");
      jar.set(pair.slice(0, at), pair.slice(at + 1));
    }
    return reply;
  }

  /** Follows redirects up to one to an address that begins so. */
  async until(url: string, prefix: string): Promise<string> {
    for (let step = 0; step < 10; step += 1) {
      const reply = await this.send(url);
      const location = new URL(reply.headers.get("location") ?? "", url).toString();
      if (location.startsWith(prefix)) return location;
      url = location;
    }
    throw new Error(`no redirect to ${prefix}`);
  }

  /** Signs in at the provider, and returns the address of the callback without sending it. */
  async callback(catalog: Catalog, user: string): Promise<string> {
    const { issuer } = catalog.provider;
    const interaction = await this.until(
      `${catalog.address}/sso/oidc?redirect=/search`,
      `${issuer}/interaction/`,
    );
    let reply = await this.send(interaction, { prompt: "login", login: user, password: "x" });
    let location = new URL(reply.headers.get("location") ?? "", issuer).toString();
    const consent = await this.until(location, `${issuer}/interaction/`);
    reply = await this.send(consent, { prompt: "consent" });
    location = new URL(reply.headers.get("location") ?? "", issuer).toString();
    return this.until(location, `${catalog.address}/callback/`);
  }
}

test("a callback works once, in its own browser, and sets cookies for this site", async ({
  catalog,
}) => {
  const own = new Browser();
  const callback = await own.callback(catalog, "grace");
  const failed = `${catalog.address}/login?sso=expired`;
  // A stolen callback: another browser has no cookie for it, or one of another sign-in.
  const other = new Browser();
  const location = async (browser: Browser, url: string) =>
    new URL((await browser.send(url)).headers.get("location") ?? "", url).toString();
  expect(await location(other, callback)).toBe(failed);
  await other.send(`${catalog.address}/sso/oidc`);
  expect(await location(other, callback)).toBe(failed);
  // A changed state.
  const changed = new URL(callback);
  changed.searchParams.set("state", "other");
  expect(await location(own, changed.toString())).toBe(failed);

  const fresh = new Browser();
  const again = await fresh.callback(catalog, "grace");
  const reply = await fresh.send(again);
  expect(new URL(reply.headers.get("location") ?? "", again).pathname).toBe("/search");
  const session = reply.headers.getSetCookie().find((line) => line.startsWith("PLAY_SESSION="));
  expect(session).toContain("HttpOnly");
  expect(session).toContain("SameSite=Lax");
  expect(await location(fresh, again)).toBe(failed);

  // An answer in the name of another provider, or of none.
  for (const issuer of ["https://evil.example", null]) {
    const mixed = new Browser();
    const foreign = new URL(await mixed.callback(catalog, "grace"));
    if (issuer === null) foreign.searchParams.delete("iss");
    else foreign.searchParams.set("iss", issuer);
    expect(await location(mixed, foreign.toString())).toBe(failed);
  }
});

test("signing out sends the ID token to its provider alone, once", async ({ catalog }) => {
  const browser = new Browser();
  const reply = await browser.send(await browser.callback(catalog, "grace"));
  const name = "docent_id_token";
  const set = reply.headers.getSetCookie().find((line) => line.startsWith(`${name}=oidc.ey`));
  expect(set).toContain("HttpOnly");
  expect(set).toContain("Path=/logOut");
  const token = set?.split(";")[0]?.slice(`${name}=oidc.`.length);
  const out = await browser.send(`${catalog.address}/logOut`);
  const location = new URL(out.headers.get("location") ?? "");
  expect(location.origin).toBe(catalog.provider.issuer);
  expect(location.searchParams.get("id_token_hint")).toBe(token);
  expect(out.headers.getSetCookie().join("\n")).toContain(`${name}=; `);
  // The provider checks the token, and rejects one that it did not issue.
  expect((await browser.send(location.toString())).status).toBe(200);
  location.searchParams.set("id_token_hint", `${token?.slice(0, -8)}AAAAAAAA`);
  expect((await browser.send(location.toString())).status).toBe(400);
  // A session without a provider ends here only.
  const cookie = `${await sessionOf(catalog.address)}; ${name}=oidc.${token}`;
  const native = await fetch(`${catalog.address}/logOut`, {
    redirect: "manual",
    headers: { Cookie: cookie },
  });
  expect(native.headers.get("location")).toBe("/");
});

test("a sign-in never leads to another site", async ({ catalog }) => {
  for (const target of ["//evil.example", "https://evil.example", "/\\evil.example"]) {
    const browser = new Browser();
    const start = `${catalog.address}/sso/oidc?redirect=${encodeURIComponent(target)}`;
    const reply = await browser.send(start);
    const cookie = reply.headers.getSetCookie()[0] ?? "";
    const body = cookie.split("=")[1]?.split(".")[0] ?? "";
    const pending = JSON.parse(Buffer.from(body, "base64url").toString()) as { return_to: string };
    expect(pending.return_to).toBe("/");
  }
});

test("bearer tokens of the trusted issuer authenticate programs", async ({ catalog }) => {
  const token = await catalog.provider.token();
  const status = async (bearer: string) => {
    const me = "{ me { corpUser { urn } } }";
    const reply = await request(catalog.address, me, { Authorization: `Bearer ${bearer}` });
    return { status: reply.status, body: JSON.stringify(await reply.json()) };
  };
  const accepted = await status(token);
  expect(accepted.body).toContain(`urn:li:corpuser:${PIPELINE.id}`);
  const [header = "", claims = "", signature = ""] = token.split(".");
  const change = (part: string, values: Record<string, unknown>) => {
    const value = JSON.parse(Buffer.from(part, "base64url").toString()) as object;
    return Buffer.from(JSON.stringify({ ...value, ...values })).toString("base64url");
  };
  const rejected = [
    `${header}.${change(claims, { sub: "datahub" })}.${signature}`,
    `${header}.${change(claims, { exp: 9_999_999_999 })}.${signature}`,
    `${change(header, { alg: "none" })}.${claims}.`,
    `${change(header, { alg: "HS256" })}.${claims}.${signature}`,
    `${header}.${claims}.`,
    `${header}.${claims}`,
  ];
  for (const bearer of rejected) expect((await status(bearer)).status).toBe(401);
  // It works as long as the account does.
  await catalog.graphql(
    `mutation { updateUserStatus(urn: "urn:li:corpuser:${PIPELINE.id}", status: SUSPENDED) }`,
  );
  expect((await status(token)).status).toBe(401);
});
