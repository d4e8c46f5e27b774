// The same guarantees as in unsaved.spec.ts, for column descriptions.

import { address, createDataset, describe, saved, storedColumnDescription } from "./datasets.ts";
import {
  answerConfirmations,
  column,
  CONFIRMATION,
  editColumn,
  isOperation,
  returnToWindow,
  row,
} from "./editing.ts";
import { browse, expect, test, WRITES } from "./fixtures.ts";

test(
  "a column save is checked against the text at the start of the edit",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_base");
    await page.goto(address(urn));
    await editColumn(page, "id", "makes all data stale");
    await page.keyboard.press("Control+Enter");
    await saved(page);
    await editColumn(page, "city", "Mine");
    await describe(docent, urn, "Theirs", "city");
    await returnToWindow(page, "Columns");
    await expect(column(page, "city")).toHaveValue("Mine");
    await page.keyboard.press("Control+Enter");
    const conflict = row(page, "city").getByRole("alert");
    await expect(conflict).toContainText("Theirs");
    await expect(conflict).toContainText("Mine");
    await expect(conflict).toContainText(/Edited just now by DataHub/);
    expect(await storedColumnDescription(docent, urn, "city")).toBe("Theirs");
    // Editing again starts with the user's own text, now based on theirs.
    await row(page, "city")
      .getByRole("button", { name: "Edit description for column city" })
      .click();
    await expect(column(page, "city")).toHaveValue("Mine");
    await page.keyboard.press("End");
    await page.keyboard.type(" and theirs");
    await page.keyboard.press("Control+Enter");
    await expect(conflict).toBeHidden();
    await saved(page);
    expect(await storedColumnDescription(docent, urn, "city")).toBe("Mine and theirs");
  },
);

const MANY = Array.from(
  { length: 300 },
  (_, number) => `column_${String(number).padStart(3, "0")}`,
);

test(
  "a column with a failed save stays visible under any filter",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_failed_filter", MANY);
    await page.goto(address(urn));
    await editColumn(page, "column_002", "Not saved");
    await page.route("**/api/graphql", (route) => route.abort());
    await page.keyboard.press("Control+Enter");
    const failed = row(page, "column_002");
    await expect(failed.getByRole("alert")).toContainText("Not saved");
    await page.getByLabel("Filter columns").fill("column_299");
    await expect(row(page, "column_299")).toBeVisible();
    await expect(failed).toContainText("Not saved");
    await page.getByLabel("Filter columns").fill("nothing like that");
    await expect(failed).toContainText("Not saved");
    await page.getByLabel("Filter columns").fill("");
    await expect(page.getByText("1 column has unsaved changes.")).toBeVisible();
    const confirmations = answerConfirmations(page, "stay");
    await browse(page, "Domains");
    await expect.poll(() => confirmations).toEqual([CONFIRMATION]);
    // Editing again starts with the unsaved text.
    await failed.getByRole("button", { name: "Add description for column column_002" }).click();
    await expect(column(page, "column_002")).toHaveValue("Not saved");
    await page.unroute("**/api/graphql");
    await page.keyboard.press("Control+End");
    await page.keyboard.type(", then saved");
    await page.keyboard.press("Control+Enter");
    await expect(failed.getByRole("alert")).toBeHidden();
    await saved(page);
    expect(await storedColumnDescription(docent, urn, "column_002")).toBe("Not saved, then saved");
  },
);

test("the column being edited stays open when it is scrolled out of view", async ({
  page,
  docent,
}) => {
  const urn = await createDataset(docent, "story_scrolled", MANY);
  await page.goto(address(urn));
  await editColumn(page, "column_002", "half a sentence");
  await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
  await expect(page.getByRole("rowheader", { name: "column_299" })).toBeVisible();
  await expect(column(page, "column_002")).toHaveValue("half a sentence");
  await page.keyboard.type(", and the rest");
  await page.keyboard.press("Control+Enter");
  await page.evaluate(() => window.scrollTo(0, 0));
  await expect(row(page, "column_002")).toContainText("half a sentence, and the rest");
});

test("the text of a column removed during an edit is kept", async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_column_gone");
  await page.goto(address(urn));
  await editColumn(page, "id", "makes all data stale");
  await page.keyboard.press("Control+Enter");
  await saved(page);
  await editColumn(page, "city", "about a city");
  await createDataset(docent, "story_column_gone", ["id", "name"]);
  await returnToWindow(page, "Columns");
  const orphaned = page.getByRole("alert");
  await expect(orphaned).toContainText("Column city no longer exists.");
  await expect(orphaned).toContainText("about a city");
  answerConfirmations(page, "stay");
  await browse(page, "Domains");
  await expect(orphaned).toBeVisible();
  await orphaned.getByRole("button", { name: "Discard" }).click();
  await expect(orphaned).toBeHidden();
});

test(
  "clicking elsewhere saves a column without a confirmation",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_click_away");
    await page.goto(address(urn));
    await editColumn(page, "city", "Saved by leaving");
    const confirmations = answerConfirmations(page);
    await browse(page, "Domains");
    await expect(page.getByRole("heading", { level: 1, name: "Domains" })).toBeVisible();
    expect(confirmations).toEqual([]);
    expect(await storedColumnDescription(docent, urn, "city")).toBe("Saved by leaving");
  },
);

test("a conflict found while leaving the page is shown first", async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_click_conflict");
  await page.goto(address(urn));
  await editColumn(page, "city", "Mine");
  await describe(docent, urn, "Theirs", "city");
  const confirmations = answerConfirmations(page, "stay");
  await browse(page, "Domains");
  await expect.poll(() => confirmations).toEqual([CONFIRMATION]);
  await expect(row(page, "city").getByRole("alert")).toContainText("Theirs");
  await expect(row(page, "city").getByRole("alert")).toContainText("Mine");
});

test("discarded column text is not saved", async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_thrown_away");
  const written: string[] = [];
  page.on("request", (request) => {
    if (isOperation(request, "UpdateDescription")) written.push(request.postData() ?? "");
  });
  await page.goto("/domains");
  await expect(page.getByRole("heading", { level: 1, name: "Domains" })).toBeVisible();
  await page.keyboard.press("/");
  await page.keyboard.type("story_thrown_away");
  await page.getByRole("group", { name: "Datasets" }).getByRole("option").first().click();
  await editColumn(page, "city", "Never mind");
  const confirmations = answerConfirmations(page, "stay", "leave", "stay", "leave");
  await page.keyboard.press("Escape");
  await expect.poll(() => confirmations.length).toBe(1);
  await expect(column(page, "city")).toHaveValue("Never mind");
  await page.keyboard.press("Escape");
  await expect(column(page, "city")).toBeHidden();
  await editColumn(page, "city", "Never mind");
  await page.evaluate(() => window.history.back());
  await expect.poll(() => confirmations.length).toBe(3);
  await expect(column(page, "city")).toHaveValue("Never mind");
  await page.evaluate(() => window.history.back());
  await expect(page.getByRole("heading", { level: 1, name: "Domains" })).toBeVisible();
  await page.waitForLoadState("networkidle");
  await expect.poll(() => confirmations.length).toBe(4);
  expect(written).toEqual([]);
  expect(await storedColumnDescription(docent, urn, "city")).toBeUndefined();
});

test("unsaved column text is restored after a reload", WRITES, async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_column_draft");
  await page.goto(address(urn));
  await editColumn(page, "city", "Half a sentence");
  await page.reload();
  const restored = row(page, "city").getByRole("alert");
  await expect(restored).toContainText("Unsaved draft restored");
  await expect(restored).toContainText("Half a sentence");
  await restored.getByRole("button", { name: "Try again" }).click();
  await expect(restored).toBeHidden();
  await saved(page);
  expect(await storedColumnDescription(docent, urn, "city")).toBe("Half a sentence");

  // Text of a failed save is restored too; discarded text is not.
  await editColumn(page, "id", "Not saved");
  await page.route("**/api/graphql", (route) => route.abort());
  await page.keyboard.press("Tab");
  await expect(column(page, "name")).toBeFocused();
  await page.keyboard.type("Never mind");
  const asked = answerConfirmations(page, "leave");
  await page.keyboard.press("Escape");
  await expect.poll(() => asked).toHaveLength(1);
  await expect(row(page, "id").getByRole("alert")).toContainText("Can't reach the server");
  await page.unroute("**/api/graphql");
  await page.reload();
  await expect(row(page, "id").getByRole("alert")).toContainText("Not saved");
  await expect(page.getByText("Never mind")).toHaveCount(0);
  await row(page, "id").getByRole("button", { name: "Discard" }).click();
  await page.reload();
  await expect(row(page, "city")).toContainText("Half a sentence");
  await expect(page.getByRole("alert")).toHaveCount(0);
});
