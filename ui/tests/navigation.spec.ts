// Navigation: facets, unknown addresses, failed chunks, small screens, titles and scroll positions.

import { firstParagraph, plainSpans, plainText } from "../src/components/plain_text.ts";
import { browse, datasetUrn, expect, test, resultCount } from "./fixtures.ts";

test("several values of a facet can be selected and the others stay listed", async ({ page }) => {
  await page.goto("/search");
  const platforms = page.getByRole("group", { name: "Platform" });
  await expect(platforms.getByRole("checkbox").nth(1)).toBeVisible();
  const before = await platforms.getByRole("checkbox").count();
  const number = (text: string) => Number(text.replaceAll(/\D/g, ""));
  const total = async () => number(await resultCount(page).innerText());
  const all = await total();
  await platforms.getByRole("checkbox").first().check();
  await expect(page).toHaveURL(/filter_platform=/);
  await expect.poll(total).toBeLessThan(all);
  const one = await total();
  expect(await platforms.getByRole("checkbox").count()).toBe(before);
  await platforms.getByRole("checkbox").nth(1).check();
  await expect.poll(total).toBeGreaterThan(one);
  await expect(platforms.getByRole("checkbox", { checked: true })).toHaveCount(2);
  const counts = platforms.locator("label:has(:checked) .number");
  const selected = (await counts.allInnerTexts()).reduce((sum, text) => sum + number(text), 0);
  expect(selected).toBe(await total());
  await page
    .getByRole("button", { name: /Remove filter/ })
    .first()
    .click();
  await expect(platforms.getByRole("checkbox", { checked: true })).toHaveCount(1);
});

test("an unknown address shows a not-found page with a link home", async ({ page }) => {
  for (const path of [
    "/datasett/x",
    "/settings/nothing",
    "/settings/toString",
    "/dataset",
    "/tag",
  ]) {
    await page.goto(path);
    await expect(page.getByRole("heading", { level: 1 }), path).toHaveText("Page not found");
    await expect(page).toHaveTitle("Not found · Docent");
  }
  await page.getByRole("main").getByRole("link", { name: "Home" }).click();
  await expect(page.getByRole("heading", { name: "What are you looking for?" })).toBeVisible();
});

test("a chunk that can't be loaded shows why and leaves the navigation usable", async ({
  page,
}) => {
  await page.goto("/");
  await page.route("**/assets/domains-*.js", (route) => route.fulfill({ status: 404, json: {} }));
  const top = page.getByRole("navigation", { name: "Main" });
  await browse(page, "Domains");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("A new version is available");
  await expect(page.getByRole("alert")).toContainText("The server has been updated");
  await page.unroute("**/assets/domains-*.js");
  await page.getByRole("button", { name: "Reload page" }).click();
  await expect(page.getByRole("table", { name: "Domain tree" })).toBeVisible();

  await page.route(/\/assets\/explorer-|\/health\/live/, (route) => route.abort());
  await top.getByRole("link", { name: "API" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Can't reach the server");
  await browse(page, "Domains");
  await expect(page.getByRole("table", { name: "Domain tree" })).toBeVisible();
});

test("on a phone the filters are behind a button", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto("/search");
  const button = page.getByRole("button", { name: "Filters", exact: true });
  const platforms = page.getByRole("group", { name: "Platform" });
  await expect(button).toBeVisible();
  await expect(platforms).toBeHidden();
  const first = page.getByRole("article").first();
  const topOf = async (element: typeof button) => (await element.boundingBox())?.y ?? Number.NaN;
  expect(await topOf(button)).toBeLessThan(await topOf(first));
  expect(await topOf(first)).toBeLessThan(400);
  await button.click();
  await platforms.getByRole("checkbox").first().check();
  await expect(page.getByRole("button", { name: "Filters (1)" })).toHaveAttribute(
    "aria-expanded",
    "true",
  );
  await page.getByRole("button", { name: /^Show [\d,]+ results?$/ }).click();
  await expect(platforms).toBeHidden();
  await expect(page.getByRole("button", { name: "Filters (1)" })).toBeVisible();
});

test("filters without results can be cleared", async ({ page }) => {
  await page.goto("/search?query=order&filter_tags=urn:li:tag:nobody-has-it");
  await expect(page.getByText("No results for “order” match these filters")).toBeVisible();
  await page.getByRole("link", { name: "Clear filters" }).click();
  await expect(page.getByRole("article").first()).toBeVisible();
  await expect(page).toHaveURL(/\/search\?query=order$/);
});

test("an unreachable server can be retried", async ({ page }) => {
  await page.goto("/");
  await expect(page.getByText(/[\d,]+ datasets in [\d,]+ domains/)).toBeVisible();
  await page.route("**/api/graphql", (route) => route.abort());
  await page.goto("/domains");
  await expect(page.getByRole("alert")).toContainText("Can't reach the server.");
  await page.unroute("**/api/graphql");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("table", { name: "Domain tree" })).toBeVisible();
});

test("the actions on a domain follow its privileges", async ({ page }) => {
  await page.route("**/api/graphql", async (route) => {
    const reply = await route.fetch();
    const body = await reply.text();
    // Only Finance can be managed, and only Sales can have subdomains.
    const json = JSON.parse(
      body,
      (_, value: { urn?: string; privileges?: Record<string, boolean> }) => {
        if (value?.privileges === undefined || !value.urn?.startsWith("urn:li:domain:"))
          return value;
        const isManaged = value.urn === "urn:li:domain:finance";
        const canHaveSubdomains = value.urn === "urn:li:domain:sales";
        return {
          ...value,
          privileges: {
            ...value.privileges,
            canManageEntity: isManaged,
            canManageChildren: canHaveSubdomains,
          },
        };
      },
    );
    await route.fulfill({ response: reply, json });
  });
  await page.goto("/domains");
  await page.getByRole("button", { name: "Actions for Finance" }).click();
  await expect(page.getByRole("menuitem")).toHaveText(["Rename…", "Move…", "Delete…"]);
  await page.getByRole("menuitem", { name: "Move…" }).click();
  const picker = page.getByRole("dialog");
  await expect(picker.getByRole("option", { name: "Sales" })).toBeVisible();
  await expect(picker.locator('[role="option"]:not([aria-disabled])')).toHaveText(["Sales"]);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Actions for Sales" }).click();
  await expect(page.getByRole("menuitem")).toHaveText(["New subdomain"]);
  await page.keyboard.press("Escape");
  await expect(page.getByRole("button", { name: /^Actions for/ })).toHaveCount(2);
  await page.goto("/domain/urn:li:domain:sales");
  await page.getByRole("button", { name: "Actions for Sales" }).click();
  await expect(page.getByRole("menuitem")).toHaveText(["New subdomain"]);
});

test("the list of users is paginated and the search stays in the address", async ({
  page,
  docent,
}) => {
  for (let number = 0; number < 110; number += 1) {
    const name = `Paginated ${String(number).padStart(3, "0")}`;
    const urn = `urn:li:corpuser:paginated${number}`;
    await docent.ingest(urn, "corpUserInfo", { active: true, displayName: name, fullName: name });
  }
  await page.goto("/settings/users");
  await expect(page.getByText(/1–100 of/)).toBeVisible();
  await page.getByRole("link", { name: "Next" }).click();
  await expect(page).toHaveURL(/page=2/);
  await expect(page.getByText(/101–\d+ of/)).toBeVisible();
  await page.getByLabel("Find users").fill("paginated");
  await expect(page).toHaveURL(/\?query=paginated$/);
  await expect(page.getByText("1–100 of 110")).toBeVisible();
  await page.getByLabel("Find users").fill("xyzzyplugh");
  await page.getByRole("link", { name: "Show all users" }).click();
  await expect(page.getByText(/1–100 of/)).toBeVisible();
});

test("filter names that match object properties are harmless", async ({ page }) => {
  await page.goto("/search?filter_constructor=x&filter___proto__=y");
  await expect(page.getByText("No results match these filters")).toBeVisible();
  for (const value of ["x", "y"]) {
    await expect(
      page.getByRole("button", { name: `Remove filter ${value}`, exact: true }),
    ).toBeVisible();
  }
});

test("a later page is not reported as missing while it loads", async ({ page, docent }) => {
  await docent.graphql(`mutation { createDomain(input: { id: "two-pages", name: "Two pages" }) }`);
  for (let number = 0; number < 51; number += 1) {
    const urn = datasetUrn("hive", `two_pages_${String(number).padStart(2, "0")}`);
    await docent.ingest(urn, "domains", { domains: ["urn:li:domain:two-pages"] });
  }
  const reported: string[] = [];
  await page.exposeFunction("reportMissing", (path: string) => reported.push(path));
  await page.addInitScript(() => {
    const { reportMissing } = globalThis as unknown as { reportMissing: (path: string) => void };
    new MutationObserver(() => {
      if (document.body?.textContent?.includes("no more results") === true)
        reportMissing(document.location.pathname);
    }).observe(document, { childList: true, subtree: true });
  });
  await page.goto("/domain/urn:li:domain:two-pages?page=2");
  await expect(page.getByText("51–51 of 51")).toBeVisible();
  expect(reported).toEqual([]);
  // The observer does notice a page that is really missing.
  await page.goto("/domain/urn:li:domain:two-pages?page=3");
  await expect.poll(() => reported).toContain("/domain/urn:li:domain:two-pages");
});

test("every page has its own title", async ({ page }) => {
  const orders = datasetUrn("postgres", "shop.public.orders");
  for (const [path, title] of [
    ["/", "Home"],
    ["/search", "Search"],
    ["/search?query=order", "Search: order"],
    ["/search?query=order&page=2", "Search: order (page 2)"],
    [`/dataset/${orders}`, "orders"],
    [`/dataset/${orders}?show=history`, "History of orders"],
    [`/dataset/${orders}?show=history&column=status`, "History of status in orders"],
    ["/domains", "Domains"],
    ["/domain/urn:li:domain:finance", "Finance"],
    ["/domain/urn:li:domain:finance?show=history", "History of Finance"],
    ["/settings/tokens", "Access tokens · Settings"],
    ["/settings/users", "Users · Settings"],
    ["/settings/appearance", "Preferences · Settings"],
    ["/graphiql", "API"],
    [`/dataset/${datasetUrn("hive", "no_such_table")}`, "Not found"],
    ["/domain/urn:li:domain:no-such-domain", "Not found"],
  ] as const) {
    await page.goto(path);
    await expect(page, path).toHaveTitle(`${title} · Docent`);
  }
});

test("Back restores the page and scroll position of the results, also after a reload", async ({
  page,
}) => {
  await page.setViewportSize({ width: 1280, height: 400 });
  const position = () => page.evaluate(() => window.scrollY);
  await page.goto("/search");
  await page.getByRole("link", { name: "Next" }).click();
  await expect(page.getByText(/21–40 of/)).toBeVisible();
  // The previous page stays visible until this one has loaded.
  await expect(page.locator(".search-page")).toHaveAttribute("aria-busy", "false");
  const chosen = page.locator("a[data-result]").nth(12);
  await chosen.scrollIntoViewIfNeeded();
  const name = await chosen.innerText();
  const before = await position();
  expect(before).toBeGreaterThan(300);
  await chosen.click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(name);
  // Clears the cache, so the results have to be loaded again.
  await page.reload();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(name);
  await page.goBack();
  await expect(page).toHaveURL(/page=2/);
  await expect(chosen).toHaveText(name);
  await expect.poll(position).toBe(before);
});

test("single-line descriptions show Markdown as plain text", async ({ page, docent }) => {
  const urn = datasetUrn("hive", "story_one_line");
  const description =
    "## Orders\n\n- **Every** order of the [shop](https://example.org/shop), by `order_id`";
  await docent.ingest(urn, "datasetProperties", { description, customProperties: {} });
  await docent.graphql(`mutation { createDomain(input: { id: "one-line", name: "One line" }) }`);
  await docent.graphql(
    `mutation ($urn: String!) { setDomain(entityUrn: $urn, domainUrn: "urn:li:domain:one-line") }`,
    {
      urn,
    },
  );
  await page.goto("/domain/urn:li:domain:one-line");
  const words = "Every order of the shop, by order_id";
  await expect(
    page.getByRole("row", { name: /story_one_line/ }).locator(".single-line"),
  ).toHaveText(words);
  await page.goto("/search?query=story_one_line");
  await expect(page.locator(".result-text").first()).toHaveText(words);
});

test("plain text keeps the words of Markdown and drops its syntax", () => {
  for (const [markdown, words] of [
    ["plain words", "plain words"],
    ["a_b and snake_case_name stay, _these_ go", "a_b and snake_case_name stay, these go"],
    ["2 * 3 * 4 = 24", "2 * 3 * 4 = 24"],
    ["# Title\n\nText", "Title Text"],
    ["1. one\n2. two\n- [x] done", "one two done"],
    ["> quoted\n> words", "quoted words"],
    ["| a | b |\n| --- | :-: |\n| 1 | 2 |", "a · b 1 · 2"],
    ["```sql\nselect 1\n```", "select 1"],
    ["![a picture](https://example.org/a(1).png) and [a link][1]", "a picture and a link"],
    ["***very*** ~~old~~ `code`", "very old code"],
    ["a\n\n---\n\nb", "a b"],
    ["\\*not emphasis\\*", "*not emphasis*"],
    ["<https://example.org>", "https://example.org"],
    ["1.5 kg - 3 #hash a|b", "1.5 kg - 3 #hash a|b"],
    ["", ""],
  ] as const) {
    expect(plainText(markdown)).toBe(words);
  }
  const spans = plainSpans([
    { text: "**All ", matched: false },
    { text: "orders", matched: true },
    { text: "** of the [", matched: false },
    { text: "shop", matched: true },
    { text: "](https://example.org)", matched: false },
  ]);
  expect(spans).toEqual([
    { text: "All ", matched: false },
    { text: "orders", matched: true },
    { text: " of the ", matched: false },
    { text: "shop", matched: true },
  ]);
});

test("the first paragraph of a text is the first one that is no heading", () => {
  for (const [markdown, first] of [
    ["# Customers\nThe source of truth.\n\nMore.", "The source of truth."],
    ["# Customers\n\n## Scope\n\nAll of them.\n\nMore.", "All of them."],
    ["One.\n\n# Two", "One."],
    ["# Only a heading", "# Only a heading"],
    ["#hashtag first", "#hashtag first"],
  ] as const) {
    expect(firstParagraph(markdown).trim()).toBe(first);
  }
});

test("list numbering and table alignment are kept", async ({ page, docent }) => {
  const urn = datasetUrn("hive", "story_aligned");
  const description = "7. seventh\n8. eighth\n\n| name | rows |\n| :-- | --: |\n| orders | 12 |\n";
  await docent.ingest(urn, "datasetProperties", { description, customProperties: {} });
  await page.goto(`/dataset/${urn}`);
  await expect(page.locator(".prose ol")).toHaveAttribute("start", "7");
  const alignment = page.locator(".prose td").nth(1);
  await expect(alignment).toHaveText("12");
  await expect(alignment).toHaveCSS("text-align", /right|end/);
});
