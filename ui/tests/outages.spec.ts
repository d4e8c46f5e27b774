// The server, or the way to it, is gone for a while: what is shown stays, and nothing is done that could not be looked at.

import type { Page, Request } from "@playwright/test";

import { datasetUrn, expect, holdRequests, test } from "./docent.ts";

const OUTDATED = /What is shown may be old/;

/** Makes what was read old, and the page read it again, as somebody does who comes back to the window. */
async function readAgain(page: Page): Promise<void> {
  await page.clock.fastForward(60_000);
  await page.evaluate(() => window.dispatchEvent(new Event("visibilitychange")));
}

const asksFor = (request: Request, name: string) => (request.postData() ?? "").includes(`query ${name}(`);

test("a dialog stays open, with what was typed, when the domains cannot be read again", async ({ page }) => {
  await page.clock.install();
  await page.goto("/domains");
  await page.getByRole("button", { name: "New domain" }).click();
  const dialog = page.getByRole("dialog", { name: "New domain" });
  await dialog.getByLabel("Description").fill("A long text about a domain");
  await page.route("**/api/graphql", (route) => route.abort());
  await readAgain(page);
  await expect(page.getByText(OUTDATED)).toBeAttached();
  await expect(dialog.getByLabel("Description")).toHaveValue("A long text about a domain");
  await dialog.getByLabel("Name").fill("Made in an outage");
  await dialog.getByRole("button", { name: "Create" }).click();
  await expect(dialog.getByRole("alert").last()).toContainText("The server does not answer");
  await page.unroute("**/api/graphql");
  await dialog.getByRole("button", { name: "Create" }).click();
  await expect(dialog).toBeHidden();
  await expect(page.getByRole("link", { name: "Made in an outage" })).toBeVisible();
  await expect(page.getByText(OUTDATED)).toHaveCount(0);
});

test("a home that cannot be read says so once, and is there as soon as it can", async ({ page }) => {
  const isOfHome = /query (DomainForest|DomainCounts|Overview|RecentChanges)\b/;
  await page.route("**/api/graphql", (route) =>
    isOfHome.test(route.request().postData() ?? "") ? route.abort() : route.continue(),
  );
  await page.goto("/");
  await expect(page.getByRole("alert")).toHaveCount(1);
  await expect(page.getByRole("alert")).toContainText("The server does not answer");
  await expect(page.locator(".skeleton")).toHaveCount(0);
  await expect(page.getByRole("heading", { name: "Changes by week" })).toBeHidden();
  await page.unroute("**/api/graphql");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("alert")).toHaveCount(0);
  for (const name of ["Domains", "Recently changed", "Documentation"]) {
    await expect(page.getByRole("region", { name })).toBeVisible();
  }
  await expect(page.getByText(/[\d,]+ datasets in [\d,]+ domains/)).toBeVisible();
});

test("what home, a search and the choice of a domain show stays when it cannot be read again", async ({ page }) => {
  await page.clock.install();
  for (const [path, shown] of [
    ["/", () => page.getByRole("region", { name: "Recently changed" }).getByRole("listitem").first()],
    ["/search?query=order", () => page.getByRole("article").first()],
  ] as const) {
    await page.goto(path);
    await expect(shown()).toBeVisible();
    await page.waitForLoadState("networkidle");
    await page.route("**/api/graphql", (route) => route.abort());
    await readAgain(page);
    await expect(page.getByText(OUTDATED)).toHaveCount(1);
    await expect(shown()).toBeVisible();
    await page.unroute("**/api/graphql");
    await page.getByRole("button", { name: "Try again" }).click();
    await expect(page.getByText(OUTDATED)).toHaveCount(0);
  }
  await page.goto(`/dataset/${datasetUrn("postgres", "shop.public.orders")}`);
  await page.getByRole("button", { name: "Edit the domain" }).click();
  const picker = page.getByRole("dialog");
  await picker.getByRole("combobox").fill("refunds");
  await page.route("**/api/graphql", (route) => route.abort());
  await readAgain(page);
  await expect(picker.getByText(OUTDATED)).toBeVisible();
  await expect(picker.getByRole("combobox")).toHaveValue("refunds");
  await expect(picker.getByRole("option").last()).toHaveText("Refunds and Disputes");
});

test("a domain is not deleted before one has seen what that touches", async ({ page, docent }) => {
  await docent.ask(`mutation { createDomain(input: { id: "unseen", name: "Unseen" }) }`);
  await docent.ask(`mutation ($urn: String!) { setDomain(entityUrn: $urn, domainUrn: "urn:li:domain:unseen") }`, {
    urn: datasetUrn("hive", "fct_users_created"),
  });
  await page.goto("/domains");
  await page.route("**/api/graphql", (route) =>
    asksFor(route.request(), "DomainDatasets") ? route.abort() : route.continue(),
  );
  await page.getByRole("button", { name: "Actions for Unseen" }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete Unseen?" });
  const remove = dialog.getByRole("button", { name: "Delete" });
  await expect(dialog.getByRole("alert")).toContainText("The server does not answer");
  await expect(remove).toBeDisabled();
  await page.unroute("**/api/graphql");
  await dialog.getByRole("button", { name: "Try again" }).click();
  await expect(dialog).toContainText("1 dataset is taken out of it");
  await expect(remove).toBeEnabled();
});

test("a browser that says it is offline asks the server all the same", async ({ page, context }) => {
  await page.goto("/");
  await expect(page.getByText(/[\d,]+ datasets in [\d,]+ domains/)).toBeVisible();
  await page.getByRole("link", { name: "Finance" }).first().click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Finance");
  await context.setOffline(true);
  // It says so at once, and does not wait for a network that may not be needed.
  await page.getByRole("region", { name: "Inside" }).getByRole("link").first().click();
  await expect(page.getByRole("alert").first()).toContainText("The server does not answer");
  await context.setOffline(false);
  await expect(page.getByRole("region", { name: "Datasets" })).toBeVisible();

  // A server on the same machine answers although there is no network.
  await page.evaluate(() => {
    Object.defineProperty(navigator, "onLine", { value: false });
    window.dispatchEvent(new Event("offline"));
  });
  await page.getByRole("link", { name: "Domains" }).first().click();
  await page.getByRole("button", { name: "New domain" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("Made without a network");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("link", { name: "Made without a network" })).toBeVisible();
});

test("waiting is shown only when it lasts, and stays until it is over", async ({ page }) => {
  await page.clock.install();
  await page.goto("/search?query=order");
  await expect(page.getByRole("article").first()).toBeVisible();
  let sendPart = () => {};
  const partIsSent = new Promise<void>((resolve) => (sendPart = resolve));
  await page.route(/\/dataset-[^/]*\.js$/, async (route) => {
    await partIsSent;
    await route.continue();
  });
  const goOn = await holdRequests(page);
  await page.clock.pauseAt(new Date(Date.now() + 600_000));
  await page.locator("a[data-result]").first().click();
  const waiting = page.locator(".skeleton");
  const lines = page.locator(".skeleton-line");
  await expect(waiting).toHaveCount(1);
  await page.clock.runFor(149);
  await expect(lines).toHaveCount(0);
  await page.clock.runFor(1);
  await expect(lines).toHaveCount(4);

  // The part of the page is there and waits for its dataset: more lines at once, without a moment of none.
  sendPart();
  await expect(lines).toHaveCount(10);
  await page.clock.resume();
  goOn();
  await expect(page.locator("code.urn")).toBeVisible();
  await expect(lines).toHaveCount(0);
});
