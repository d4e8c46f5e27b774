import { WRITES, expect, test, USER } from "./fixtures.ts";

test(
  "signing in leads to the requested page, and signing out back to the form",
  WRITES,
  async ({ browser, docent }) => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${docent.address}/domains`);
    await expect(page).toHaveTitle("Sign in · Docent");
    await page.getByLabel("Username").fill(USER);
    await page.getByLabel("Password").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect(page.getByRole("alert")).toContainText("The username or the password is wrong");

    await page.getByLabel("Password").fill(docent.password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect(page.getByRole("heading", { name: "Domains" })).toBeVisible();
    expect(new URL(page.url()).pathname).toBe("/domains");

    await page.getByRole("button", { name: /Account menu for/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await expect(page.getByLabel("Password")).toBeVisible();
    await page.reload();
    await expect(page.getByLabel("Password")).toBeVisible();
    await context.close();
  },
);

test("an empty field is named beside it, and gets the focus", async ({ page, context }) => {
  await context.clearCookies();
  await page.goto("/");
  await page.getByLabel("Username").fill(USER);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("alert")).toHaveText("This field is required.");
  await expect(page.getByLabel("Password")).toBeFocused();
  await expect(page.getByLabel("Password")).toHaveAccessibleDescription("This field is required.");
});

test("an expired session opens the sign-in dialog", async ({ page, context }) => {
  await page.goto("/");
  const finance = page.locator("main a", { hasText: "Finance" }).first();
  await expect(finance).toBeVisible();
  await page.waitForLoadState("networkidle");
  await context.clearCookies();
  // A request of the page itself may open the dialog first, and hide the link behind it.
  await finance.dispatchEvent("click");
  await expect(page.getByLabel("Password")).toBeVisible();
});

test("the page is compressed and cacheable and allows no inline scripts", async ({ request }) => {
  const document = await request.get("/search?query=x");
  expect(document.headers()["content-type"]).toBe("text/html; charset=utf-8");
  expect(document.headers()["cache-control"]).toBe("no-cache");
  const policy = document.headers()["content-security-policy"] ?? "";
  expect(policy).toContain("script-src 'self';");
  expect(policy).toContain("default-src 'none'");
  const html = await document.text();
  expect(html).not.toMatch(/<script(?![^>]*src=)/);
  const script = /src="(\/assets\/[^"]+\.js)"/.exec(html)?.[1] ?? "";
  const file = await request.get(script);
  expect(file.headers()["cache-control"]).toBe("public, max-age=31536000, immutable");
  expect(file.headers()["content-encoding"]).toMatch(/^(br|gzip)$/);
});

test("unknown paths return JSON errors, not the page", async ({ request }) => {
  for (const path of ["/assets/none.js", "/no/such/page"]) {
    const reply = await request.get(path);
    expect(reply.ok()).toBe(false);
    expect(reply.headers()["content-type"]).toContain("application/json");
  }
});
