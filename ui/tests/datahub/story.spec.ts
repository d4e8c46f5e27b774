// DataHub's own web page, built from its sources, on this server: somebody signs in, finds a dataset,
// describes it and visits the other pages. `DOCENT_DATAHUB_CHECKOUT` names the checkout with the build.
// With `DOCENT_PAGE_REQUESTS=FILE` the requests are written to a file, for the benchmark.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { test as base, expect, type Page } from "@playwright/test";

import { datasetUrn, start, stop, USER, type Docent } from "../fixtures.ts";

/** The page is large: its first start takes long on a small machine. */
const SLOW = { timeout: 60_000 };

const BOOKS = datasetUrn("postgres", "shop.public.books");
const ORDERS = datasetUrn("snowflake", "analytics.core.fct_orders");
const PAYMENTS = datasetUrn("snowflake", "analytics.finance.payment_reconciliation");

interface Site {
  readonly docent: Docent;
  readonly address: string;
}

const test = base.extend<object, { readonly site: Site }>({
  site: [
    async ({}, use) => {
      const directory = mkdtempSync(join(tmpdir(), "docent-datahub-"));
      const build = join(process.env["DOCENT_DATAHUB_CHECKOUT"] ?? "", "datahub-web-react", "dist");
      const ui = `127.0.0.1:${await freePort()}`;
      const store = `sqlite:${join(directory, "docent.db")}`;
      const started = await start(directory, store, ["--frontend", build, "--ui-listen", ui]);
      await use({ docent: started.docent, address: `http://${ui}` });
      await stop(started.process);
      rmSync(directory, { recursive: true, force: true });
    },
    { scope: "worker", timeout: 60_000 },
  ],
});

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

/** Collects what a user would see as a failure: errors of the API and of the page's scripts. */
function collectErrors(page: Page): string[] {
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("response", async (response) => {
    const path = new URL(response.url()).pathname;
    if (response.status() >= 400) errors.push(`${response.status()} ${path}`);
    if (!path.endsWith("/graphql")) return;
    const reply = await response.json().catch(() => ({}));
    const { operationName } = response.request().postDataJSON() as { operationName?: string };
    if (reply.errors) errors.push(`${operationName}: ${JSON.stringify(reply.errors)}`);
  });
  return errors;
}

/** Collects the requests to the API, with the path of the page that sends them. */
function recordRequests(page: Page): object[] {
  const requests: object[] = [];
  page.on("request", (request) => {
    if (!new URL(request.url()).pathname.endsWith("/graphql")) return;
    requests.push({ path: new URL(page.url()).pathname, body: request.postDataJSON() });
  });
  return requests;
}

/** Goes to another page without loading the scripts again, like a click on a link. */
async function visit(page: Page, path: string) {
  await page.evaluate((path) => {
    history.pushState({}, "", path);
    dispatchEvent(new PopStateEvent("popstate", { state: {} }));
  }, path);
}

/** The pages, and what they show of the sample catalog. */
const PAGES: ReadonlyArray<readonly [path: string, ...texts: string[]]> = [
  ["/search?query=books", "dim_book", "Book Catalogue"],
  ["/search?query=*", "Navigate", "Snowflake"],
  ["/browse/dataset", "Datasets", "web"],
  [`/dataset/${PAYMENTS}/Incidents`, "Payouts do not match the ledger"],
  [`/dataset/${BOOKS}/Columns`, "Shelf on which the book is shown", "Primary Key"],
  [`/dataset/${BOOKS}/Lineage`, "Impact Analysis"],
  [`/dataset/${BOOKS}/Properties`, "No properties found"],
  [`/dataset/${BOOKS}/Queries`, "No highlighted queries yet"],
  [`/dataset/${BOOKS}/Quality/List`, "No assertions have run"],
  [`/dataset/${BOOKS}/Incidents`, "No incidents yet"],
  [`/dataset/${BOOKS}/Governance`, "No tests have run"],
  [`/dataset/${ORDERS}/Columns`, "Net revenue, after refunds known so far"],
  [`/dataset/${ORDERS}/Lineage`, "exchange_rates", "customer_features"],
  [`/dataset/${ORDERS}/Queries`, "Refunds later than 30 days"],
  [`/dataset/${ORDERS}/Stats`, "Top Users", "Row Count"],
  [`/dataset/${ORDERS}/Quality/List`, "Every order has a number", "No rows are lost"],
  [`/dataset/${ORDERS}/Quality/Summary`, "Passing"],
  [`/dataset/${ORDERS}/Properties`, "lanternfold"],
  ["/domains", "Marketing and Growth", "Everything that brings readers to the shop"],
  ["/domain/urn:li:domain:sales/Data Products", "Core sales model"],
  ["/dataProduct/urn:li:dataProduct:core-sales/Assets", "fct_orders", "Output Ports"],
  ["/glossary", "Personal Data", "Financial measures."],
  ["/glossaryTerm/urn:li:glossaryTerm:net-revenue/Related Assets", "Month end", "fct_orders"],
  ["/tags", "Personally identifiable information.", "17 entities"],
  ["/tag/urn:li:tag:pii", "Applied to"],
  ["/user/urn:li:corpuser:accountant", "Senior Accountant", "Finance Team"],
  ["/structured-properties", "Retention in days", "Whom to call when the data is wrong or late."],
  ["/marketplace", "Core sales model"],
  ["/settings/views", "No Views yet!"],
  ["/settings/permissions/policies", "Admins - Platform Policy"],
  ["/settings/permissions/roles", "Can do everything on the platform."],
  ["/settings/identities/users", "Privacy Officer"],
  ["/settings/identities/groups", "Finance Team"],
  ["/settings/tokens", "Generate new token"],
  ["/settings/ownership", "Technical Owner"],
  ["/settings/posts", "Create new post"],
  ["/ingestion", "No sources yet!"],
  ["/ingestion/secrets", "No secrets yet!"],
  ["/applications", "No applications found"],
  ["/business-attribute", "No Business Attributes!"],
  ["/analytics", "Data Landscape Summary"],
];

test("somebody who moves here signs in and goes on working", async ({ page, site }) => {
  test.setTimeout(600_000);
  const errors = collectErrors(page);
  const requests = recordRequests(page);

  // Its introductions cover the page.
  await page.addInitScript(() => {
    localStorage.setItem("skipOnboardingTour", "true");
    localStorage.setItem("skipWelcomeModal", "true");
  });
  await page.goto(site.address);
  await page.locator("#username").fill(USER, SLOW);
  await page.locator("#password").fill(site.docent.password);
  await page.keyboard.press("Enter");
  await expect(page.getByText("Book Catalogue").first()).toBeVisible(SLOW);

  await test.step("the description of a dataset is read and changed", async () => {
    await visit(page, `/dataset/${BOOKS}/Documentation`);
    await expect(page.getByText("One row per edition").first()).toBeVisible(SLOW);
    await page.getByTestId("edit-documentation-button").click(SLOW);
    const editor = page.locator("[contenteditable=true]").first();
    await editor.click(SLOW);
    await page.keyboard.press("Control+End");
    await page.keyboard.type(" Counted every night.");
    await page.getByTestId("description-editor-save-button").click();
    await expect
      .poll(async () => {
        const query = `{ dataset(urn: "${BOOKS}") { editableProperties { description } } }`;
        const reply = await site.docent.graphql<{
          dataset: { editableProperties: { description: string } | null };
        }>(query);
        return reply.dataset.editableProperties?.description ?? "";
      }, SLOW)
      .toContain("Counted every night.");
  });

  await test.step("a domain is created", async () => {
    await visit(page, "/domains");
    await page.getByTestId("domains-new-domain-button").click(SLOW);
    await page.getByTestId("create-domain-name").locator("input").fill("Second-hand Books", SLOW);
    await page.locator("#createDomainButton").click(SLOW);
    await expect(page.getByText("Second-hand Books").first()).toBeVisible(SLOW);
    const query = "{ listDomains(input: { count: 100 }) { domains { properties { name } } } }";
    const reply = await site.docent.graphql(query);
    expect(JSON.stringify(reply)).toContain('"Second-hand Books"');
  });

  for (const [path, ...texts] of PAGES) {
    await test.step(path, async () => {
      await visit(page, path);
      for (const text of texts) {
        await expect(page.getByText(text).first()).toBeVisible(SLOW);
      }
    });
  }
  expect(errors).toEqual([]);
  const file = process.env["DOCENT_PAGE_REQUESTS"];
  if (file) writeFileSync(file, JSON.stringify(requests));
});
