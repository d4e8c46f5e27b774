// What tells whether a dataset can be trusted: checks, incidents, usage, statistics, queries and
// properties.

import { newUser } from "./accounts.ts";
import { expectAccessible } from "./axe.ts";
import { address, createDataset } from "./datasets.ts";
import { WRITES, datasetUrn, expect, test } from "./fixtures.ts";

const ORDERS = datasetUrn("snowflake", "analytics.core.fct_orders");
const RECONCILIATION = datasetUrn("snowflake", "analytics.finance.payment_reconciliation");
const DELIVERY = datasetUrn("snowflake", "analytics.operations.delivery_performance");

test("a failing check and an active incident are seen at once", async ({ page }) => {
  await page.goto(address(RECONCILIATION));
  const header = page.locator(".entity-header");
  await expect(header.getByRole("link", { name: "1 active incident" })).toBeVisible();
  await expect(header.getByRole("link", { name: "1 failing check" })).toBeVisible();
  const trust = page.getByRole("region", { name: "Trust" });
  await expect(trust).toContainText("3 hours ago");
  await expect(trust).toContainText("1 of 2 failing");
  await expect(trust).toContainText("1,981 × 6 columns");

  await trust.getByRole("link", { name: "1 of 2 failing" }).click();
  await expect(page).toHaveURL(/\/Quality$/);
  await expect(page.getByRole("link", { name: /^Quality/ })).toHaveText("Quality 3");
  const incident = page.getByRole("region", { name: "Incidents" }).getByRole("listitem").first();
  await expect(incident).toContainText("Payouts do not match the ledger");
  await expect(incident).toContainText("raised 2 days ago by Accountant");
  await expect(incident.getByRole("link", { name: "Payments Developer" })).toBeVisible();
  // The check that fails comes first, with its runs and what it demands.
  const row = page.getByRole("region", { name: "Checks" }).getByRole("row").nth(1);
  await expect(row).toContainText("The result of the statement must be at most 0.05");
  await expect(row.getByRole("listitem")).toHaveCount(14);
  await expect(row.getByRole("listitem").last()).toContainText(/^failed, .*: 412\.9$/);
  await expect(row.getByRole("listitem").first()).toContainText(/^passed/);
  await row.getByText("Statement", { exact: true }).click();
  await expect(row.locator(".sql-keyword").first()).toHaveText("SELECT");
  await expect(page.getByRole("region", { name: "Data contract" })).toContainText(
    "Broken: 1 of its 2 checks failed the last time.",
  );
});

test("DataHub's names of the tabs lead to the same content", async ({ page }) => {
  for (const [segment, heading] of [
    ["Validation", "Checks"],
    ["Incidents", "Incidents"],
    ["Stats", "Statistics"],
    ["Queries", "Saved queries"],
    ["Properties", "Properties"],
  ] as const) {
    await page.goto(`${address(ORDERS)}/${segment}`);
    await expect(page.getByRole("heading", { name: heading, exact: true })).toBeVisible();
  }
});

test("usage and statistics come from the reported time series", async ({ page }) => {
  await page.goto(`${address(ORDERS)}/Usage`);
  const usage = page.getByRole("region", { name: "Queries", exact: true });
  await expect(usage.getByRole("status")).toHaveText("1,671 queries by 4 people");
  await expect(usage.getByRole("table", { name: "Queries by day" }).getByRole("row")).toHaveCount(
    30,
  );
  await expect(usage.getByRole("table", { name: "Top users" }).getByRole("row").first()).toHaveText(
    /Analytics Lead\s*676/,
  );
  await expect(usage.getByRole("table", { name: "Top columns" })).toContainText("order_date");
  await usage.getByLabel("Period").selectOption("12 months");
  await expect(usage.getByRole("table", { name: "Queries by month" })).toBeVisible();
  await expect(usage.getByRole("status")).not.toHaveText("1,671 queries by 4 people");

  const statistics = page.getByRole("region", { name: "Statistics" });
  await expect(statistics).toContainText("4,138,221");
  await expect(
    statistics.getByRole("table", { name: "Rows over time" }).getByRole("row"),
  ).toHaveCount(12);
  const amount = statistics.getByRole("row").filter({ hasText: "gmv_eur" });
  await expect(amount).toContainText("0.99 – 4,210");
  await amount.getByText("Values", { exact: true }).click();
  await expect(amount.getByRole("table", { name: "Distribution of gmv_eur" })).toContainText(
    /20 to 40\s*1,489,760/,
  );
  const changes = page.getByRole("region", { name: "Data changes" });
  await expect(changes).toContainText("4 hours ago by Platform Engineer");
  await expect(changes.getByRole("listitem").first()).toHaveText(/^\w+ [\d,]+ rows/);
});

test(
  "shares that are almost none or all are not rounded to it",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_tiny_shares");
    await docent.ingest(urn, "datasetProfile", {
      timestampMillis: Date.now(),
      rowCount: 1_000_000,
      columnCount: 3,
      fieldProfiles: [{ fieldPath: "city", nullProportion: 0.0004, uniqueProportion: 0.9996 }],
    });
    await page.goto(address(urn));
    const city = page.getByRole("row", { name: /^city/ });
    await expect(city.getByTitle("<0.1% empty")).toBeVisible();
    await expect(city.getByTitle(">99.9% distinct")).toBeVisible();
  },
);

test("columns show their keys, labels and shares, and views their query", async ({ page }) => {
  await page.goto(address(ORDERS));
  const row = page.getByRole("row").filter({ has: page.getByText("customer_id", { exact: true }) });
  await expect(row.locator(".column-type")).toContainText("Empty14.8%");
  await expect(page.getByRole("columnheader", { name: "Type" })).toContainText("empty · distinct");
  await expect(page.getByRole("row").filter({ hasText: "gmv_eur" }).first()).toContainText(
    "Gross Merchandise Value",
  );
  await row.getByRole("link", { name: "→ Customer (dimension).customer_id" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Customer (dimension)");
  await expect(page.locator("[data-highlighted=true]")).toContainText("customer_id");

  await page.goto(address(DELIVERY));
  const view = page.getByRole("region", { name: "View definition" });
  await expect(view.locator(".sql-keyword").first()).toHaveText("SELECT");
  await expect(view.locator(".sql-string").first()).toHaveText("'week'");
});

test(
  "an incident is raised, resolved with a message and reopened",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_incidents");
    await page.goto(`${address(urn)}/Quality`);
    await expect(page.getByText("No incidents", { exact: true })).toBeVisible();
    await expect(page.getByText("No checks yet")).toBeVisible();
    await expect(page.getByText("No data contract", { exact: true })).toBeVisible();

    await page.getByRole("button", { name: "Raise incident" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Raise" }).click();
    await expect(dialog.getByRole("alert")).toHaveText("Enter a title");
    await dialog.getByLabel("Title").fill("Half of the rows are missing");
    await dialog.getByLabel("What is wrong, and who is affected").fill("Since **Monday**.");
    await dialog.getByLabel("Kind").selectOption("Volume");
    await dialog.getByLabel("Priority").selectOption("Critical");
    await dialog.getByRole("button", { name: "Assign user or group" }).click();
    const people = page.getByRole("dialog", { name: "Assign user or group" });
    await people.getByRole("combobox").fill("J. Doe");
    await people.getByRole("option", { name: "J. Doe" }).click();
    await expect(people).toBeHidden();
    await expect(dialog.getByLabel("Title")).toHaveValue("Half of the rows are missing");
    await expectAccessible(page, "raising an incident");
    await dialog.getByRole("button", { name: "Raise" }).click();
    await expect(dialog).toBeHidden();
    const incidents = page.getByRole("region", { name: "Incidents" });
    const incident = incidents.getByRole("listitem");
    await expect(incident).toContainText("Active Volume · Critical · Triage");
    await expect(incident.getByText("Monday")).toHaveCSS("font-weight", /[67]00|bold/);
    await expect(incident).toContainText("Assigned to J. Doe");
    await expect(page.getByRole("link", { name: "1 active incident" })).toBeVisible();

    await page.getByRole("button", { name: "Edit “Half of the rows are missing”" }).click();
    await dialog.getByLabel("Priority").selectOption("Low");
    await dialog.getByLabel("Stage").selectOption("Investigation");
    await dialog.getByRole("button", { name: "Remove J. Doe" }).click();
    await dialog.getByRole("button", { name: "Assign user or group" }).click();
    await people.getByRole("combobox").fill("data team");
    await people.getByRole("option", { name: "Data Team" }).click();
    await expectAccessible(page, "editing an incident");
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(dialog).toBeHidden();
    await expect(incident).toContainText("Active Volume · Low · Investigation");
    await expect(incident).toContainText("Assigned to Data Team");
    await expect(incident.getByText("Monday")).toBeVisible();
    await incidents.getByRole("button", { name: "Undo" }).click();
    await expect(incident).toContainText("Active Volume · Critical · Triage");
    await expect(incident).toContainText("Assigned to J. Doe");

    await page.getByRole("button", { name: "Resolve “Half of the rows are missing”" }).click();
    await dialog.getByLabel("What was done").fill("Loaded again");
    await dialog.getByRole("button", { name: "Resolve" }).click();
    await expect(dialog).toBeHidden();
    await expect(incidents.getByRole("status")).toContainText("is resolved.");
    await expect(incident).toContainText("Loaded again");
    await expect(incident).toContainText(/Resolved.*resolved just now by DataHub/);
    await expect(page.getByRole("link", { name: "1 active incident" })).toBeHidden();

    await incidents.getByRole("button", { name: "Undo" }).click();
    await expect(incident).toContainText("Active Volume · Critical · Triage");
    await expect(incident).not.toContainText("Loaded again");
  },
);

test("queries are saved, edited, deleted and restored", WRITES, async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_queries");
  await page.goto(`${address(urn)}/Queries`);
  await expect(page.getByText("No saved queries yet")).toBeVisible();
  await page.getByRole("button", { name: "Add query" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Cities");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog.getByRole("alert")).toHaveText("Enter a query");
  await dialog.getByLabel("SQL").fill("SELECT city FROM t -- all of them");
  await expectAccessible(page, "adding a query");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog).toBeHidden();
  const query = page.getByRole("region", { name: "Saved queries" }).getByRole("listitem");
  await expect(query.locator("pre")).toHaveText("SELECT city FROM t -- all of them");
  await expect(query.locator(".sql-comment")).toHaveText("-- all of them");
  await expect(query).toContainText("DataHub, just now");

  await page.getByRole("button", { name: "Edit query Cities" }).click();
  await dialog.getByLabel("SQL").fill("SELECT DISTINCT city FROM t");
  await page.keyboard.press("Control+Enter");
  await expect(dialog).toBeHidden();
  await expect(query.locator("pre")).toHaveText("SELECT DISTINCT city FROM t");
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(query.locator("pre")).toHaveText("SELECT city FROM t -- all of them");
  await page.getByRole("button", { name: "Edit query Cities" }).click();
  await dialog.getByLabel("SQL").fill("SELECT DISTINCT city FROM t");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("Query “Cities” saved.")).toBeVisible();

  await page.getByRole("button", { name: "Delete query Cities" }).click();
  await expect(page.getByText("No saved queries yet")).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(query.getByRole("heading")).toHaveText("Cities");
  await expect(query.locator("pre")).toHaveText("SELECT DISTINCT city FROM t");
});

test("structured properties are set, changed and removed", WRITES, async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_property_editing");
  await page.goto(`${address(urn)}/Properties`);
  const row = (name: string) => page.getByRole("row").filter({ hasText: name });
  await expect(row("Classification")).toContainText("No value");
  await expect(row("Classification")).toContainText("How damaging it would be");
  await page.getByRole("button", { name: "Set Classification" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("radio", { name: /^Confidential/ }).check();
  await expectAccessible(page, "setting a property");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog).toBeHidden();
  await expect(row("Classification")).toContainText("Confidential");

  await page.getByRole("button", { name: "Set Retention in days" }).click();
  await dialog.getByLabel("Value").fill("a year");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog.getByRole("alert")).toHaveText("“a year” is not a number");
  await dialog.getByLabel("Value").fill("365");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(row("Retention in days")).toContainText("365");

  await page.getByRole("button", { name: "Set Escalation" }).click();
  await dialog.getByRole("combobox").fill("J. Doe");
  await dialog.getByRole("option", { name: "J. Doe" }).click();
  await dialog.getByRole("combobox").fill("data team");
  await dialog.getByRole("option", { name: "Data Team" }).click();
  await expectAccessible(page, "choosing entities");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(row("Escalation").getByRole("link")).toHaveText(["J. Doe", "Data Team"]);

  await page.getByRole("button", { name: "Remove the values of Classification" }).click();
  await expect(row("Classification")).toContainText("No value");
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(row("Classification")).toContainText("Confidential");
});

test("a reader sees no buttons that only fail on the tabs", WRITES, async ({ browser, docent }) => {
  const urn = await createDataset(docent, "story_trust_reader");
  const context = await newUser(browser, docent, "Theo", "Reader");
  const page = await context.newPage();
  for (const [segment, text] of [
    ["Quality", "No incidents"],
    ["Queries", "No saved queries yet"],
    ["Properties", "No properties yet"],
  ] as const) {
    await page.goto(`${address(urn)}/${segment}`);
    await expect(page.getByText(text, { exact: true })).toBeVisible();
    await expect(page.getByRole("button", { name: /^(Raise|Add|Set|Edit)/ })).toHaveCount(0);
  }
  await context.close();
});
