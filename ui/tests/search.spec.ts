import { createDataset } from "./datasets.ts";
import { WRITES, expect, holdRequests, test, resultCount } from "./fixtures.ts";

test("results show platform, domain, description and the columns that matched", async ({
  page,
}) => {
  await page.goto("/search?query=customer+order");
  await expect(page).toHaveTitle("Search: customer order · Docent");
  const first = page
    .getByRole("article")
    .filter({ has: page.getByRole("link", { name: "orders", exact: true }) });
  await expect(first).toBeVisible();
  await expect(first).toContainText("PostgreSQL");
  await expect(first).toContainText("Sales");
  await expect(first.locator("code mark").first()).toHaveText(/order|customer/);
  await expect(first.locator("p.result-text mark").first()).toHaveText(/order/i);
});

test("a result says where it is and what matched, and leads to the matching column", async ({
  page,
}) => {
  // A described column: the description of the table stays its own.
  await page.goto("/search?query=counted+this+shelf");
  const result = page
    .getByRole("article")
    .filter({ has: page.getByRole("link", { name: "stock_levels", exact: true }) });
  await expect(result.locator(".result-details")).toContainText("depot › stock");
  await expect(result.locator(".result-text")).toContainText("Copies on the shelf");
  // Only its first paragraph.
  await expect(result.locator(".result-text")).not.toContainText("available");
  const columns = result.getByRole("list", { name: "Matching columns" });
  await expect(columns).toContainText("counted_at: Last time a person counted this shelf");
  await columns.getByRole("link", { name: "counted_at" }).click();
  const row = page.getByRole("row", { name: /counted_at/ });
  await expect(row).toBeInViewport();
  await expect(row).toHaveAttribute("data-highlighted", "true");

  // Labels.
  await page.goto("/search?query=pii");
  const tagged = page
    .getByRole("article")
    .filter({ has: page.getByRole("link", { name: "customers", exact: true }) });
  await expect(tagged).toContainText("Tag PII");

  // Suggestions and recent changes tell datasets of the same name apart, too.
  await page.goto("/");
  await page.getByRole("combobox", { name: "Search the catalog" }).fill("stock_lev");
  await expect(page.getByRole("option", { name: /stock_levels/ }).first()).toContainText(
    "PostgreSQL › depot › stock",
  );
});

test("results of every kind have their description, without its headings", async ({ page }) => {
  await page.goto("/glossaryTerm/urn:li:glossaryTerm:net-revenue");
  const result = (name: string) =>
    page
      .getByRole("article")
      .filter({ has: page.getByRole("link", { name, exact: true }) })
      .last();
  await expect(result("Month end").locator(".result-text")).toHaveText(
    "Checked by Finance before the books of a month are closed.",
  );
  await expect(result("Finance reporting").locator(".result-text")).toContainText(
    "closes the month",
  );

  await page.goto("/search?query=truth+reader+accounts");
  await expect(result("customers").locator(".result-text")).not.toContainText("Customers");

  await page.goto("/search?query=billing&filter__entityType=CONTAINER");
  await expect(result("billing").locator(".result-details")).toContainText("Schema");
  await page.goto("/search?query=load_fct_orders&filter__entityType=DATA_JOB");
  await expect(result("load_fct_orders").locator(".result-details")).toContainText("Airflow");
});

test("facets filter the search and the address holds the whole state", async ({ page }) => {
  await page.goto("/search?query=order");
  const before = await resultCount(page).innerText();
  await page
    .getByRole("group", { name: "Platform" })
    .getByRole("checkbox", { name: /Snowflake/ })
    .check();
  await expect(page).toHaveURL(/filter_platform=urn/);
  await expect(resultCount(page)).not.toHaveText(before);
  await expect(page.getByRole("button", { name: "Remove filter Snowflake" })).toBeVisible();
  const details = await page.locator(".result-details").allInnerTexts();
  expect(details.length).toBeGreaterThan(0);
  for (const text of details) expect(text).toContain("Snowflake");

  const address = page.url();
  const filtered = await resultCount(page).innerText();
  await page.goto("/domains");
  await page.goto(address);
  await expect(resultCount(page)).toHaveText(filtered);
  await page.getByRole("link", { name: "Clear filters" }).click();
  await expect(resultCount(page)).toHaveText(before);
  await page.goBack();
  await expect(resultCount(page)).toHaveText(filtered);
});

test("the keyboard leads from the search box to a result and back", async ({ page }) => {
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

test("results are paginated", async ({ page }) => {
  await page.goto("/search");
  await expect(page.getByText(/1–20 of/)).toBeVisible();
  await page.getByRole("link", { name: "Next" }).click();
  await expect(page).toHaveURL(/page=2/);
  await expect(page.getByText(/21–40 of/)).toBeVisible();
  await page.goBack();
  await expect(page.getByText(/1–20 of/)).toBeVisible();
});

test("a search without results suggests what to do", async ({ page }) => {
  await page.goto("/search?query=xyzzyplugh");
  await expect(page.getByText("No results for “xyzzyplugh”")).toBeVisible();
  await expect(page.getByText(/Check your spelling/)).toBeVisible();
  // There is nothing to filter.
  await expect(page.getByRole("group", { name: "Missing" })).toHaveCount(0);
});

test("undocumented datasets can be listed", async ({ page }) => {
  await page.goto("/");
  const coverage = page.getByText(/of [\d,]+ datasets .+ are documented/);
  const numbers = (await coverage.innerText()).match(/[\d,]+/g) ?? [];
  const [documented = 0, all = 0] = numbers.map((text) => Number(text.replaceAll(",", "")));
  await page.getByRole("link", { name: /^Describe .* without a description$/ }).click();
  await expect(page.getByRole("button", { name: /No description/ })).toBeVisible();
  await expect(page.getByRole("article").first()).toBeVisible();
  const missing = all - documented;
  await expect(resultCount(page)).toHaveText(
    missing === 1 ? "1 result" : `${missing.toLocaleString("en")} results`,
  );
});

test("what has no owner and no domain yet is a filter away", WRITES, async ({ page, docent }) => {
  await createDataset(docent, "story_missing_neither");
  const owned = await createDataset(docent, "story_missing_domain");
  await docent.graphql(
    `mutation ($urn: String!) { addOwner(input: { ownerUrn: "urn:li:corpuser:jdoe", ownerEntityType: CORP_USER, type: DATAOWNER, resourceUrn: $urn }) }`,
    { urn: owned },
  );
  const results = page.getByRole("article").getByRole("heading");
  await page.goto("/search?query=story_missing");
  await expect(results).toHaveCount(2);
  const missing = page.getByRole("group", { name: "Missing" });
  await missing.getByRole("checkbox", { name: "No owner" }).check();
  await expect(results).toHaveText(["story_missing_neither"]);
  await page.getByRole("button", { name: "Remove filter No owner" }).click();
  await missing.getByRole("checkbox", { name: "No domain" }).check();
  await expect(page).toHaveURL(/filter_missing=domains/);
  await expect(results).toHaveCount(2);
  // What cannot be in a domain is not missing one.
  await page.goto("/search?query=jdoe&filter_missing=domains");
  await expect(page.getByRole("article").filter({ hasText: "User" })).toHaveCount(0);
  await expect(results.first()).toBeVisible();
});

test("a new page starts at the top and Back restores the scroll position", async ({ page }) => {
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
  await page.getByRole("link", { name: "Go to the last page" }).click();
  await expect(page.locator("a[data-result]").first()).toBeVisible();
  await expect(page.getByRole("link", { name: "Next" })).toBeHidden();
});

test("the arrow keys stay in a menu that is open over the results", async ({ page }) => {
  await page.goto("/search?query=order");
  await expect(page.getByRole("article").first()).toBeVisible();
  await page.getByRole("button", { name: /Account menu for/ }).click();
  await expect(page.getByRole("menu")).toBeFocused();
  for (let step = 0; step < 2; step += 1) {
    await page.keyboard.press("ArrowDown");
    await expect(page.getByRole("menuitem").nth(step)).toBeFocused();
  }
  await page.keyboard.press("Escape");
  await page.getByRole("main").focus();
  await page.keyboard.press("ArrowDown");
  await expect(page.locator("a[data-result]").first()).toBeFocused();
});

test("Enter opens a suggestion only while it is shown", async ({ page }) => {
  await page.goto("/domains");
  const box = page.getByRole("combobox", { name: "Search the catalog" });
  const list = page.getByRole("listbox", { name: "Suggestions" });
  for (const leave of [() => page.keyboard.press("Escape"), () => box.blur()]) {
    await box.fill("fct_");
    await expect(list.getByRole("option").nth(1)).toBeVisible();
    await page.keyboard.press("ArrowDown");
    await expect(list.getByRole("option").first()).toHaveAttribute("aria-selected", "true");
    await leave();
    await expect(list).toBeHidden();
    await box.focus();
    await page.keyboard.press("Enter");
    await expect(page).toHaveURL(/\/search\?query=fct_$/);
    await page.goto("/domains");
  }

  // A list that arrives late does not change the selection.
  await box.fill("fct_");
  await expect(list.getByRole("option").nth(1)).toBeVisible();
  const release = await holdRequests(page);
  await box.fill("fina");
  await page.keyboard.press("ArrowDown");
  await expect(list.getByRole("option").first()).toHaveAttribute("aria-selected", "true");
  release();
  await expect(list.getByRole("option", { name: /Finance/ }).first()).toBeVisible();
  await expect(list.locator("[aria-selected=true]")).toHaveCount(0);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/search\?query=fina$/);
});

test("the search box shows the current search and no other query", async ({ page }) => {
  const box = page.getByRole("combobox", { name: "Search the catalog" });
  await page.goto("/search?query=order");
  await expect(box).toHaveValue("order");
  await page.goto("/settings/users?query=controller");
  await expect(page.getByLabel("Find users")).toHaveValue("controller");
  await expect(box).toHaveValue("");
  await page.goto("/login");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("What are you looking for?");
  await expect(box).toHaveCount(1);
  expect(new URL(page.url()).pathname).toBe("/");
});

test("datasets outside of production show their environment", async ({ page }) => {
  await page.goto("/search?query=churn_training_set");
  const result = page.getByRole("article").filter({ hasText: "churn_training_set" }).first();
  await expect(result.getByText("DEV", { exact: true })).toBeVisible();
  await result.getByRole("link", { name: "churn_training_set" }).click();
  const header = page.locator("header.entity-header");
  await expect(header.getByText("DEV", { exact: true })).toBeVisible();
});
