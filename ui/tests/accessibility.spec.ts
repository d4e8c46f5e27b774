import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";

import { address, createDataset, describe } from "./datasets.ts";
import { datasetUrn, expect, test } from "./fixtures.ts";

const PAGES: ReadonlyArray<readonly [string, string]> = [
  ["home", "/"],
  ["search", "/search?query=order"],
  ["search without results", "/search?query=xyzzyplugh"],
  ["dataset", `/dataset/${datasetUrn("postgres", "shop.public.orders")}`],
  ["history", `/dataset/${datasetUrn("postgres", "shop.public.orders")}?show=history`],
  [
    "history of a column",
    `/dataset/${datasetUrn("postgres", "shop.public.orders")}?show=history&column=order_id`,
  ],
  ["missing dataset", `/dataset/${datasetUrn("hive", "no_such_table")}`],
  ["domains", "/domains"],
  ["domain", "/domain/urn:li:domain:finance"],
  ["history of a domain", "/domain/urn:li:domain:finance?show=history"],
  ["proposals", "/proposals"],
  ["decided proposals", "/proposals?show=decided"],
  ["tokens", "/settings/tokens"],
  ["users", "/settings/users"],
  ["audit log", "/settings/audit"],
  ["preferences", "/settings/appearance"],
  ["GraphQL", "/graphiql"],
  ["unknown page", "/no/such/page"],
];

/** Opens a page and waits until it is fully loaded, so that axe sees all of it. */
async function open(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await expect(page.getByRole("heading", { level: 1 }), path).toBeVisible();
  await page.waitForLoadState("networkidle");
  await expect(page.locator(".skeleton"), path).toHaveCount(0);
}

for (const scheme of ["light", "dark"] as const) {
  test(`axe finds no violations on any page in the ${scheme} theme`, async ({ page }) => {
    test.setTimeout(180_000);
    await page.emulateMedia({ colorScheme: scheme });
    for (const [name, path] of PAGES) {
      await open(page, path);
      // GraphiQL is third-party code.
      const { violations } = await new AxeBuilder({ page })
        .exclude(".graphiql-container")
        .analyze();
      expect(violations.map((found) => `${name}: ${found.id} ${found.nodes[0]?.html}`)).toEqual([]);
    }
  });
}

test("axe finds no violations in dialogs and editors", async ({ page }) => {
  const check = async (name: string) => {
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map((found) => `${name}: ${found.id} ${found.nodes[0]?.html}`)).toEqual([]);
  };
  await page.goto(`/dataset/${datasetUrn("postgres", "shop.public.orders")}`);
  await page.getByRole("button", { name: "Edit description", exact: true }).click();
  await expect(page.getByRole("textbox", { name: /^Description \(Markdown\)$/ })).toBeFocused();
  await check("editor");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Edit domain" }).click();
  await expect(page.getByRole("option").first()).toBeVisible();
  await check("picker");
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keyboard shortcuts" })).toBeVisible();
  await check("keyboard shortcuts");
  await page.keyboard.press("Escape");
  await page.goto("/settings/tokens");
  await page.getByRole("button", { name: "New token" }).click();
  await expect(page.getByRole("dialog", { name: "New token" })).toBeVisible();
  await check("new token");
});

test("axe finds no violations after a session expired or a save failed", async ({
  page,
  context,
  cookies,
  docent,
}) => {
  const urn = await createDataset(docent, "story_access");
  await page.goto(address(urn));
  await page.getByRole("button", { name: "Add description for column city" }).click();
  await page.keyboard.type("Half a sentence");
  await context.clearCookies();
  await page.keyboard.press("Control+Enter");
  const dialog = page.getByRole("dialog", { name: "Your session has expired" });
  await expect(dialog).toBeVisible();
  const check = async (name: string) => {
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map((found) => `${name}: ${found.id} ${found.nodes[0]?.html}`)).toEqual([]);
  };
  await check("session");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("row", { name: /^city/ }).getByRole("alert")).toBeVisible();
  await check("not saved");
  await describe(docent, urn, "Their text", "city");
  await context.addCookies([...cookies]);
  await page.getByRole("button", { name: "Try again" }).first().click();
  await expect(page.getByRole("alert")).toContainText("Their text");
  await check("conflict");
});

test("axe finds no violations on the sign-in page", async ({ browser, docent }) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(docent.address);
  await expect(page.getByLabel("Password")).toBeVisible();
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.map((found) => found.id)).toEqual([]);
  await context.close();
});

test("no page scrolls horizontally on a phone", async ({ page }) => {
  await page.setViewportSize({ width: 375, height: 740 });
  for (const [name, path] of PAGES) {
    await open(page, path);
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(overflow, name).toBeLessThanOrEqual(0);
  }
});
