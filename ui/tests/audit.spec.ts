import { readFile } from "node:fs/promises";

import { WRITES, expect, test } from "./fixtures.ts";

const rows = "tbody tr";

test(
  "the audit log shows a change and a failed sign-in, and filters them",
  WRITES,
  async ({ page, docent }) => {
    await docent.ingest("urn:li:tag:audited", "tagProperties", { name: "Audited" });
    const reply = await fetch(`${docent.address}/logIn`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ username: "datahub", password: "a wrong password" }),
    });
    expect(reply.status).toBe(401);
    await page.goto("/settings/audit");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Settings");
    const denied = page.locator(rows, { hasText: "POST /logIn" }).first();
    await expect(denied).toContainText("Sign in");
    await expect(denied).toContainText("Denied");
    await expect(denied).toContainText("the password is wrong");
    await expect(denied).toContainText("127.0.0.1");
    await expect(denied).not.toContainText("a wrong password");
    const change = page.locator(rows, { hasText: "Tag Audited" }).first();
    await expect(change).toContainText("Allowed");
    await expect(change).toContainText("Tag properties created");
    await expect(
      change.getByRole("link", { name: "Root User - Edit and View All Resources" }),
    ).toHaveAttribute("href", "/settings/policies?policy=urn%3Ali%3AdataHubPolicy%3A1");
    await page.getByLabel("Outcome").selectOption("Denied");
    await expect(page).toHaveURL(/outcome=DENIED/);
    await expect(change).toBeHidden();
    await expect(denied).toBeVisible();
    await page.getByLabel("Period").selectOption("Last 24 hours");
    await expect(denied).toBeVisible();
    await page.getByLabel("Username").fill("nobody");
    await expect(page.getByText("No event matches the filters.")).toBeVisible();
    await page.getByRole("link", { name: "Show all events" }).click();
    await expect(change).toBeVisible();
    await expect(page.getByLabel("Username")).toHaveValue("");

    await page.getByLabel("Entity (URN)").fill("urn:li:tag:audited");
    await page.getByLabel("Entity (URN)").press("Enter");
    await expect(page).toHaveURL(/entity=/);
    await expect(page.locator(rows)).toHaveCount(1);
    await expect(change.getByRole("link", { name: "Audited" })).toHaveAttribute(
      "href",
      "/tag/urn:li:tag:audited",
    );
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download CSV" }).click();
    const file = await readFile(await (await download).path(), "utf8");
    expect(file.split("\r\n")).toHaveLength(3);
    expect(file).toContain(",urn:li:tag:audited,");
    await page.getByLabel("Entity (URN)").fill("");
    await page.getByLabel("Entity (URN)").press("Enter");
    await denied.getByRole("link", { name: "Sign in: show only these" }).click();
    await expect(page.getByRole("searchbox", { name: "Operation" })).toHaveValue("POST /logIn");
    await expect(change).toBeHidden();
    await expect(denied).toBeVisible();
    await page.getByRole("searchbox", { name: "Operation" }).fill("no such operation");
    await page.getByRole("searchbox", { name: "Operation" }).press("Enter");
    await expect(page.getByRole("alert")).toContainText("no such operation");
    // It would fail again.
    await expect(page.getByRole("button", { name: "Try again" })).toHaveCount(0);
  },
);

test("the audit log names saved searches and leads to them", WRITES, async ({ page, docent }) => {
  const filters = `[{ field: "platform", values: ["urn:li:dataPlatform:hive"] }]`;
  await docent.graphql(
    `mutation { createView(input: { viewType: GLOBAL, name: "Audited search", definition: { entityTypes: [], filter: { operator: AND, filters: ${filters} } } }) { urn } }`,
  );
  await page.goto("/settings/audit");
  const created = page.locator(rows, { hasText: "Saved search Audited search" }).first();
  await expect(created).toBeVisible();
  await created.getByRole("link", { name: "Audited search" }).click();
  await expect(page.getByRole("button", { name: /Audited search/ })).toBeVisible();
});

test("the audit log is paginated", WRITES, async ({ page, docent }) => {
  for (let index = 0; index < 60; index += 1) {
    const urn = `urn:li:tag:audited-${index}`;
    await docent.ingest(urn, "tagProperties", { name: `Audited ${index}` });
  }
  await page.goto("/settings/audit");
  await expect(page.locator(rows)).toHaveCount(50);
  await expect(page.locator(rows).first()).toContainText("Audited 59");
  await page.getByRole("link", { name: "Older" }).click();
  await expect(page.locator(rows, { hasText: /Audited 9 / })).toHaveCount(1);
  await page.getByRole("link", { name: "Newest" }).click();
  await expect(page.locator(rows).first()).toContainText("Audited 59");
});
