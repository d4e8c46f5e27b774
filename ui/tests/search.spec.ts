import { expect, test } from "./docent.ts";

test("results show platform, domain, description and the columns that matched", async ({ page }) => {
  await page.goto("/search?query=customer+order");
  await expect(page).toHaveTitle("Search: customer order · Docent");
  const first = page.getByRole("article").filter({ has: page.getByRole("link", { name: "orders", exact: true }) });
  await expect(first).toBeVisible();
  await expect(first).toContainText("PostgreSQL");
  await expect(first).toContainText("Sales");
  await expect(first.locator("code mark").first()).toHaveText(/order|customer/);
  await expect(first.locator("p.result-text mark").first()).toHaveText(/order/i);
});

test("facets narrow the search, and the whole state is in the address", async ({ page }) => {
  await page.goto("/search?query=order");
  const before = await page.getByRole("status").innerText();
  await page
    .getByRole("group", { name: "Platform" })
    .getByRole("checkbox", { name: /Snowflake/ })
    .check();
  await expect(page).toHaveURL(/filter_platform=urn/);
  await expect(page.getByRole("status")).not.toHaveText(before);
  await expect(page.getByRole("button", { name: "Remove the filter Snowflake" })).toBeVisible();
  for (const facts of await page.locator(".result-facts").allInnerTexts()) expect(facts).toContain("Snowflake");

  const address = page.url();
  const narrowed = await page.getByRole("status").innerText();
  await page.goto("/domains");
  await page.goto(address);
  await expect(page.getByRole("status")).toHaveText(narrowed);
  await page.getByRole("link", { name: "Clear all filters" }).click();
  await expect(page.getByRole("status")).toHaveText(before);
  await page.goBack();
  await expect(page.getByRole("status")).toHaveText(narrowed);
});

test("the keyboard leads from the question to a result and back", async ({ page }) => {
  await page.goto("/");
  await expect(page.getByRole("combobox", { name: "Search the catalog" })).toBeFocused();
  await page.keyboard.type("refund reason");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/search\?query=refund\+reason/);
  const first = page.getByRole("article").first().getByRole("link").first();
  await expect(first).toBeVisible();
  await page.keyboard.press("ArrowDown");
  await expect(first).toBeFocused();
  await page.keyboard.press("ArrowDown");
  await expect(first).not.toBeFocused();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/dataset\//);
  await page.goBack();
  await expect(page).toHaveURL(/query=refund\+reason/);
});

test("pages follow each other", async ({ page }) => {
  await page.goto("/search");
  await expect(page.getByText(/1–20 of/)).toBeVisible();
  await page.getByRole("link", { name: "Next" }).click();
  await expect(page).toHaveURL(/page=2/);
  await expect(page.getByText(/21–40 of/)).toBeVisible();
  await page.goBack();
  await expect(page.getByText(/1–20 of/)).toBeVisible();
});

test("a search without results says what to do", async ({ page }) => {
  await page.goto("/search?query=xyzzyplugh");
  await expect(page.getByText("Nothing matches “xyzzyplugh”.")).toBeVisible();
  await expect(page.getByText(/Check the spelling/)).toBeVisible();
});

test("what is not documented can be found", async ({ page }) => {
  await page.goto("/");
  await page.getByRole("link", { name: "Datasets without a description" }).click();
  await expect(page.getByRole("button", { name: /Not documented/ })).toBeVisible();
  await expect(page.getByRole("article").first()).toBeVisible();
});

test("another page is read from its top, and back leads to where one was", async ({ page }) => {
  await page.setViewportSize({ width: 1280, height: 400 });
  const position = () => page.evaluate(() => window.scrollY);
  await page.goto("/search");
  const last = page.locator("a[data-result]").last();
  await last.scrollIntoViewIfNeeded();
  const before = await position();
  expect(before).toBeGreaterThan(400);
  await last.click();
  await expect(page).toHaveURL(/\/(dataset|domain)\//);
  expect(await position()).toBe(0);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.goBack();
  await expect(last).toBeVisible();
  await expect.poll(position).toBe(before);
  await page.goto("/search?page=9999999");
  await page.getByRole("link", { name: "Go to the last one" }).click();
  await expect(page.locator("a[data-result]").first()).toBeVisible();
  await expect(page.getByRole("link", { name: "Next" })).toBeHidden();
});
