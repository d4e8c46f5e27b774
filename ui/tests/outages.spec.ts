// An unreachable server: the page keeps its content, and no change is made without its preview.

import type { Page, Request } from "@playwright/test";

import { browse, datasetUrn, expect, holdRequests, test } from "./fixtures.ts";

const STALE = /This page may be out of date/;

/** Makes the data stale and triggers a refresh, as returning to the window does. */
async function refresh(page: Page): Promise<void> {
  await page.clock.fastForward(60_000);
  await page.evaluate(() => window.dispatchEvent(new Event("visibilitychange")));
}

const isQuery = (request: Request, name: string) =>
  (request.postData() ?? "").includes(`query ${name}(`);

test("a dialog keeps its text when the domains can't be refreshed", async ({ page }) => {
  await page.clock.install();
  await page.goto("/domains");
  await page.getByRole("button", { name: "New domain" }).click();
  const dialog = page.getByRole("dialog", { name: "New domain" });
  await dialog.getByLabel("Description").fill("A long text about a domain");
  await page.route("**/api/graphql", (route) => route.abort());
  await refresh(page);
  await expect(page.getByText(STALE)).toBeAttached();
  await expect(dialog.getByLabel("Description")).toHaveValue("A long text about a domain");
  await dialog.getByLabel("Name").fill("Created in an outage");
  await dialog.getByRole("button", { name: "Create" }).click();
  await expect(dialog.getByRole("alert").last()).toContainText("Can't reach the server");
  await page.unroute("**/api/graphql");
  await dialog.getByRole("button", { name: "Create" }).click();
  await expect(dialog).toBeHidden();
  await expect(page.getByRole("link", { name: "Created in an outage" })).toBeVisible();
  await expect(page.getByText(STALE)).toHaveCount(0);
});

test("a home page that can't load shows one error and recovers on retry", async ({ page }) => {
  const isHomeQuery = /query (AllDomains|DomainCounts|Overview|Changes)\b/;
  await page.route("**/api/graphql", (route) =>
    isHomeQuery.test(route.request().postData() ?? "") ? route.abort() : route.continue(),
  );
  await page.goto("/");
  await expect(page.getByRole("alert")).toHaveCount(1);
  await expect(page.getByRole("alert")).toContainText("Can't reach the server");
  await expect(page.locator(".skeleton")).toHaveCount(0);
  await expect(page.getByRole("heading", { name: "Changes per week" })).toBeHidden();
  await page.unroute("**/api/graphql");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("alert")).toHaveCount(0);
  for (const name of ["Domains", "Edited by people", "Documentation coverage"]) {
    await expect(page.getByRole("region", { name })).toBeVisible();
  }
  await expect(page.getByText(/[\d,]+ datasets in [\d,]+ domains/)).toBeVisible();
});

test("the home page, a search and the domain picker keep their content when a refresh fails", async ({
  page,
}) => {
  await page.clock.install();
  for (const [path, shown] of [
    ["/", () => page.getByRole("region", { name: "Domains" }).getByRole("listitem").first()],
    ["/search?query=order", () => page.getByRole("article").first()],
  ] as const) {
    await page.goto(path);
    await expect(shown()).toBeVisible();
    await page.waitForLoadState("networkidle");
    await page.route("**/api/graphql", (route) => route.abort());
    await refresh(page);
    await expect(page.getByText(STALE)).toHaveCount(1);
    await expect(shown()).toBeVisible();
    await page.unroute("**/api/graphql");
    await page.getByRole("button", { name: "Try again" }).click();
    await expect(page.getByText(STALE)).toHaveCount(0);
  }
  await page.goto(`/dataset/${datasetUrn("postgres", "shop.public.orders")}`);
  await page.getByRole("button", { name: "Edit domain" }).click();
  const picker = page.getByRole("dialog");
  await picker.getByRole("combobox").fill("refunds");
  await page.route("**/api/graphql", (route) => route.abort());
  await refresh(page);
  await expect(picker.getByText(STALE)).toBeVisible();
  await expect(picker.getByRole("combobox")).toHaveValue("refunds");
  await expect(picker.getByRole("option").last()).toHaveText("Refunds and Disputes");
});

test("a domain can't be deleted before its datasets are shown", async ({ page, docent }) => {
  await docent.graphql(`mutation { createDomain(input: { id: "unseen", name: "Unseen" }) }`);
  await docent.graphql(
    `mutation ($urn: String!) { setDomain(entityUrn: $urn, domainUrn: "urn:li:domain:unseen") }`,
    {
      urn: datasetUrn("hive", "fct_users_created"),
    },
  );
  await page.goto("/domains");
  await page.route("**/api/graphql", (route) =>
    isQuery(route.request(), "DomainDatasets") ? route.abort() : route.continue(),
  );
  await page.getByRole("button", { name: "Actions for Unseen" }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete Unseen?" });
  const remove = dialog.getByRole("button", { name: "Delete" });
  await expect(dialog.getByRole("alert")).toContainText("Can't reach the server");
  await expect(remove).toBeDisabled();
  await page.unroute("**/api/graphql");
  await dialog.getByRole("button", { name: "Try again" }).click();
  await expect(dialog).toContainText("1 dataset will be removed from this domain");
  await expect(remove).toBeEnabled();
});

test("requests are sent even if the browser reports being offline", async ({ page, context }) => {
  await page.goto("/");
  await expect(page.getByText(/[\d,]+ datasets in [\d,]+ domains/)).toBeVisible();
  await page.getByRole("link", { name: "Finance" }).first().click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Finance");
  await context.setOffline(true);
  // The error appears immediately instead of waiting for the network.
  await page.getByRole("region", { name: "Subdomains" }).getByRole("link").first().click();
  await expect(page.getByRole("alert").first()).toContainText("Can't reach the server");
  await context.setOffline(false);
  await expect(page.getByRole("region", { name: "Datasets" })).toBeVisible();

  // A server on the same machine is reachable without a network.
  await page.evaluate(() => {
    Object.defineProperty(navigator, "onLine", { value: false });
    window.dispatchEvent(new Event("offline"));
  });
  await browse(page, "Domains");
  await page.getByRole("button", { name: "New domain" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("Created without a network");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("link", { name: "Created without a network" })).toBeVisible();
});

test("a skeleton appears only for slow loads and stays until they finish", async ({ page }) => {
  await page.clock.install();
  await page.goto("/search?query=order");
  await expect(page.getByRole("article").first()).toBeVisible();
  let sendChunk = () => {};
  const chunkIsSent = new Promise<void>((resolve) => (sendChunk = resolve));
  await page.route(/\/dataset-[^/]*\.js$/, async (route) => {
    await chunkIsSent;
    await route.continue();
  });
  const release = await holdRequests(page);
  await page.clock.pauseAt(new Date(Date.now() + 600_000));
  await page.locator("a[data-result]").first().click();
  const skeleton = page.locator(".skeleton");
  const lines = page.locator(".skeleton-line");
  await expect(skeleton).toHaveCount(1);
  await page.clock.runFor(149);
  await expect(lines).toHaveCount(0);
  await page.clock.runFor(1);
  await expect(lines).toHaveCount(4);

  // The chunk has loaded and the page waits for its data: more lines, without a gap.
  sendChunk();
  await expect(lines).toHaveCount(10);
  await page.clock.resume();
  release();
  await expect(page.locator("code.urn")).toBeVisible();
  await expect(lines).toHaveCount(0);
});
