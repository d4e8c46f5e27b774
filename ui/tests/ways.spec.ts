// Finding one's way: from anywhere to anywhere, also when an address is wrong, a part is missing or the window is small.

import { plainPieces, plainText } from "../src/components/plain_text.ts";
import { datasetUrn, expect, test } from "./docent.ts";

test("several values of one facet can be chosen, and its others stay in the list", async ({ page }) => {
  await page.goto("/search");
  const platforms = page.getByRole("group", { name: "Platform" });
  await expect(platforms.getByRole("checkbox").nth(1)).toBeVisible();
  const before = await platforms.getByRole("checkbox").count();
  const number = (text: string) => Number(text.replaceAll(/\D/g, ""));
  const total = async () => number(await page.getByRole("status").innerText());
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
  const sum = (await counts.allInnerTexts()).reduce((added, text) => added + number(text), 0);
  expect(sum).toBe(await total());
  await page
    .getByRole("button", { name: /Remove the filter/ })
    .first()
    .click();
  await expect(platforms.getByRole("checkbox", { checked: true })).toHaveCount(1);
});

test("a mistyped address says so and shows the way home", async ({ page }) => {
  for (const path of ["/datasett/x", "/settings/nothing", "/settings/toString", "/dataset", "/search/order"]) {
    await page.goto(path);
    await expect(page.getByRole("heading", { level: 1 }), path).toHaveText("There is no such page.");
    await expect(page).toHaveTitle("Not found · Docent");
  }
  await page.getByRole("main").getByRole("link", { name: "Home" }).click();
  await expect(page.getByRole("heading", { name: "What are you looking for?" })).toBeVisible();
});

test("a part of the page that cannot be loaded is no defect: it says why, and the rest goes on", async ({ page }) => {
  await page.goto("/");
  await page.route("**/assets/domains-*.js", (route) => route.fulfill({ status: 404, json: {} }));
  const top = page.getByRole("navigation", { name: "Main" });
  await top.getByRole("link", { name: "Domains" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("The page was updated");
  await expect(page.getByRole("alert")).toContainText("newer version");
  await page.unroute("**/assets/domains-*.js");
  await page.getByRole("button", { name: "Load the page again" }).click();
  await expect(page.getByRole("table", { name: "Tree of domains" })).toBeVisible();

  await page.route(/\/assets\/explorer-|\/health\/live/, (route) => route.abort());
  await top.getByRole("link", { name: "GraphQL" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("The server cannot be reached");
  await top.getByRole("link", { name: "Domains" }).click();
  await expect(page.getByRole("table", { name: "Tree of domains" })).toBeVisible();
});

test("on a phone the filters are behind a button above the results", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto("/search");
  const button = page.getByRole("button", { name: "Filters", exact: true });
  const platforms = page.getByRole("group", { name: "Platform" });
  await expect(button).toBeVisible();
  await expect(platforms).toBeHidden();
  const first = page.getByRole("article").first();
  const place = async (of: typeof button) => (await of.boundingBox())?.y ?? Number.NaN;
  expect(await place(button)).toBeLessThan(await place(first));
  expect(await place(first)).toBeLessThan(400);
  await button.click();
  await platforms.getByRole("checkbox").first().check();
  await expect(page.getByRole("button", { name: "Filters (1)" })).toHaveAttribute("aria-expanded", "true");
  await page.getByRole("button", { name: /^Show \d+ results?$/ }).click();
  await expect(platforms).toBeHidden();
  await expect(page.getByRole("button", { name: "Filters (1)" })).toBeVisible();
});

test("filters that leave nothing over can be cleared at once", async ({ page }) => {
  await page.goto("/search?query=order&filter_tags=urn:li:tag:nobody-has-it");
  await expect(page.getByText("Nothing that matches “order” passes all these filters.")).toBeVisible();
  await page.getByRole("link", { name: "Clear all filters" }).click();
  await expect(page.getByRole("article").first()).toBeVisible();
  await expect(page).toHaveURL(/\/search\?query=order$/);
});

test("a server that does not answer can be tried again", async ({ page }) => {
  await page.goto("/");
  await expect(page.getByText(/[\d,]+ datasets in [\d,]+ domains/)).toBeVisible();
  await page.route("**/api/graphql", (route) => route.abort());
  await page.keyboard.press("g");
  await page.keyboard.press("d");
  await page.goto("/domains");
  await expect(page.getByRole("alert")).toContainText("The server does not answer.");
  await page.unroute("**/api/graphql");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("table", { name: "Tree of domains" })).toBeVisible();
});

test("what may be done to a domain is what the server says of that domain", async ({ page }) => {
  await page.route("**/api/graphql", async (route) => {
    const reply = await route.fetch();
    const body = await reply.text();
    // Of all domains, only Finance may be changed, and only Sales may hold others.
    const json = JSON.parse(body, (_, value: { urn?: string; privileges?: Record<string, boolean> }) => {
      if (value?.privileges === undefined || !value.urn?.startsWith("urn:li:domain:")) return value;
      const isManaged = value.urn === "urn:li:domain:finance";
      const isHolder = value.urn === "urn:li:domain:sales";
      return { ...value, privileges: { ...value.privileges, canManageEntity: isManaged, canManageChildren: isHolder } };
    });
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
  await expect(page.getByRole("menuitem")).toHaveText(["New domain inside"]);
  await page.keyboard.press("Escape");
  await expect(page.getByRole("button", { name: /^Actions for/ })).toHaveCount(2);
  await page.goto("/domain/urn:li:domain:sales");
  await page.getByRole("button", { name: "Actions for Sales" }).click();
  await expect(page.getByRole("menuitem")).toHaveText(["New domain inside"]);
});

test("the list of people has pages, and what is searched for stays in the address", async ({ page, docent }) => {
  for (let number = 0; number < 110; number += 1) {
    const name = `Reader ${String(number).padStart(3, "0")}`;
    const urn = `urn:li:corpuser:reader${number}`;
    await docent.ingest(urn, "corpUserInfo", { active: true, displayName: name, fullName: name });
  }
  await page.goto("/settings/users");
  await expect(page.getByText(/1–100 of/)).toBeVisible();
  await page.getByRole("link", { name: "Next" }).click();
  await expect(page).toHaveURL(/page=2/);
  await expect(page.getByText(/101–\d+ of/)).toBeVisible();
  await page.getByLabel("Find people").fill("reader");
  await expect(page).toHaveURL(/\?query=reader$/);
  await expect(page.getByText("1–100 of 110")).toBeVisible();
  await page.getByLabel("Find people").fill("xyzzyplugh");
  await page.getByRole("link", { name: "Show everybody" }).click();
  await expect(page.getByText(/1–100 of/)).toBeVisible();
});

test("filters that are none are told apart from what every object has", async ({ page }) => {
  await page.goto("/search?filter_constructor=x&filter___proto__=y");
  await expect(page.getByRole("main")).not.toBeEmpty();
  await expect(page.getByRole("heading", { name: "Something went wrong" })).toHaveCount(0);
  await expect(page.getByRole("main")).toContainText(/constructor|filters/);
});

test("a page behind the first is not said to be missing while it is awaited", async ({ page, docent }) => {
  await docent.ask(`mutation { createDomain(input: { id: "two-pages", name: "Two pages" }) }`);
  for (let number = 0; number < 51; number += 1) {
    const urn = datasetUrn("hive", `two_pages_${String(number).padStart(2, "0")}`);
    await docent.ingest(urn, "domains", { domains: ["urn:li:domain:two-pages"] });
  }
  const said: string[] = [];
  await page.exposeFunction("said", (text: string) => said.push(text));
  await page.addInitScript(() => {
    const watch = (globalThis as unknown as { said: (text: string) => void }).said;
    new MutationObserver(() => {
      if (document.body?.textContent?.includes("not so many pages") === true) watch(document.location.pathname);
    }).observe(document, { childList: true, subtree: true });
  });
  await page.goto("/domain/urn:li:domain:two-pages?page=2");
  await expect(page.getByText("51–51 of 51")).toBeVisible();
  await page.goto("/settings/users?page=2");
  await expect(page.getByText(/not so many pages|101–/)).toBeVisible();
  expect(said.filter((path) => path.startsWith("/domain/"))).toEqual([]);
});

test("every page has a title of its own", async ({ page }) => {
  const orders = datasetUrn("postgres", "shop.public.orders");
  for (const [path, title] of [
    ["/", "Home"],
    ["/search", "Everything"],
    ["/search?query=order", "Search: order"],
    ["/search?query=order&page=2", "Search: order, page 2"],
    [`/dataset/${orders}`, "orders"],
    [`/dataset/${orders}?show=history`, "History of orders"],
    [`/dataset/${orders}?show=history&column=status`, "History of status in orders"],
    ["/domains", "Domains"],
    ["/domain/urn:li:domain:finance", "Finance"],
    ["/domain/urn:li:domain:finance?show=history", "History of Finance"],
    ["/settings/tokens", "Access tokens, settings"],
    ["/settings/users", "People, settings"],
    ["/settings/appearance", "Appearance and keys, settings"],
    ["/graphiql", "GraphQL"],
    [`/dataset/${datasetUrn("hive", "no_such_table")}`, "Not found"],
    ["/domain/urn:li:domain:no-such-domain", "Not found"],
  ] as const) {
    await page.goto(path);
    await expect(page, path).toHaveTitle(`${title} · Docent`);
  }
});

test("back leads to the same page of the results and the same place on it, also after a reload", async ({ page }) => {
  await page.setViewportSize({ width: 1280, height: 400 });
  const position = () => page.evaluate(() => window.scrollY);
  await page.goto("/search");
  await page.getByRole("link", { name: "Next" }).click();
  await expect(page.getByText(/21–40 of/)).toBeVisible();
  // The page before stays until this one is there.
  await expect(page.locator(".search-page")).toHaveAttribute("aria-busy", "false");
  const chosen = page.locator("a[data-result]").nth(12);
  await chosen.scrollIntoViewIfNeeded();
  const name = await chosen.innerText();
  const before = await position();
  expect(before).toBeGreaterThan(300);
  await chosen.click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(name);
  // Everything that was fetched is forgotten, so the results are not there at once.
  await page.reload();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(name);
  await page.goBack();
  await expect(page).toHaveURL(/page=2/);
  await expect(chosen).toHaveText(name);
  await expect.poll(position).toBe(before);
});

test("where one line is all there is room for, Markdown is its words", async ({ page, docent }) => {
  const urn = datasetUrn("hive", "story_one_line");
  const description = "## Orders\n\n- **Every** order of the [shop](https://example.org/shop), by `order_id`";
  await docent.ingest(urn, "datasetProperties", { description, customProperties: {} });
  await docent.ask(`mutation { createDomain(input: { id: "one-line", name: "One line" }) }`);
  await docent.ask(`mutation ($urn: String!) { setDomain(entityUrn: $urn, domainUrn: "urn:li:domain:one-line") }`, {
    urn,
  });
  await page.goto("/domain/urn:li:domain:one-line");
  const words = "Orders Every order of the shop, by order_id";
  await expect(page.getByRole("row", { name: /story_one_line/ }).locator(".one-line")).toHaveText(words);
  await page.goto("/search?query=story_one_line");
  await expect(page.locator(".result-text").first()).toHaveText(words);
});

test("the signs of Markdown go and its words stay", () => {
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
  const pieces = plainPieces([
    { text: "**All ", matched: false },
    { text: "orders", matched: true },
    { text: "** of the [", matched: false },
    { text: "shop", matched: true },
    { text: "](https://example.org)", matched: false },
  ]);
  expect(pieces).toEqual([
    { text: "All ", matched: false },
    { text: "orders", matched: true },
    { text: " of the ", matched: false },
    { text: "shop", matched: true },
  ]);
});

test("lists that begin elsewhere and columns that are aligned are shown so", async ({ page, docent }) => {
  const urn = datasetUrn("hive", "story_aligned");
  const description = "7. seventh\n8. eighth\n\n| name | rows |\n| :-- | --: |\n| orders | 12 |\n";
  await docent.ingest(urn, "datasetProperties", { description, customProperties: {} });
  await page.goto(`/dataset/${urn}`);
  await expect(page.locator(".prose ol")).toHaveAttribute("start", "7");
  const alignment = page.locator(".prose td").nth(1);
  await expect(alignment).toHaveText("12");
  await expect(alignment).toHaveCSS("text-align", /right|end/);
});
