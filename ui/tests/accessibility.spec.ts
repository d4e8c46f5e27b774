import type { Page } from "@playwright/test";

import { expectAccessible } from "./axe.ts";
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
  ["tag", "/tag/urn:li:tag:pii"],
  ["user", "/user/urn:li:corpuser:shop-developer"],
  ["group", "/group/urn:li:corpGroup:shop-team"],
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

test("axe finds no violations on any page, in both themes", async ({ page }) => {
  test.setTimeout(180_000);
  for (const [name, path] of PAGES) {
    await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
    await open(page, path);
    await expectAccessible(page, name);
    // The themes have the same elements and differ only in their colors.
    await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
    await expectAccessible(page, `${name}, dark`, "color-contrast");
  }
});

test("axe finds no violations in dialogs and editors", async ({ page }) => {
  await page.goto(`/dataset/${datasetUrn("postgres", "shop.public.orders")}`);
  await page.getByRole("button", { name: "Edit description", exact: true }).click();
  await expect(page.getByRole("textbox", { name: /^Description \(Markdown\)$/ })).toBeFocused();
  await expectAccessible(page, "editor");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Edit domain" }).click();
  await expect(page.getByRole("option").first()).toBeVisible();
  await expectAccessible(page, "picker");
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keyboard shortcuts" })).toBeVisible();
  await expectAccessible(page, "keyboard shortcuts");
  await page.keyboard.press("Escape");
  await page.goto("/settings/tokens");
  await page.getByRole("button", { name: "New token" }).click();
  await expect(page.getByRole("dialog", { name: "New token" })).toBeVisible();
  await expectAccessible(page, "new token");
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
  await expectAccessible(page, "session");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("row", { name: /^city/ }).getByRole("alert")).toBeVisible();
  await expectAccessible(page, "not saved");
  await describe(docent, urn, "Their text", "city");
  await context.addCookies([...cookies]);
  await page.getByRole("button", { name: "Try again" }).first().click();
  await expect(page.getByRole("alert")).toContainText("Their text");
  await expectAccessible(page, "conflict");
});

test("axe finds no violations on the sign-in page", async ({ browser, docent }) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(docent.address);
  await expect(page.getByLabel("Password")).toBeVisible();
  await expectAccessible(page, "sign-in");
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
