// Unsaved text is never lost, and concurrent changes are never overwritten silently.

import type { Dialog, Page, Request } from "@playwright/test";

import { address, createDataset, describe, saved, storedColumnDescription, storedDescription } from "./datasets.ts";
import { USER, WRITES, expect, expectFocusInside, holdRequests, test } from "./fixtures.ts";

const CONFIRMATION = "Discard unsaved changes?";

const editorOf = (page: Page) => page.getByRole("textbox", { name: "Description (Markdown)" });
const editButton = (page: Page) => page.getByRole("button", { name: "Edit description", exact: true });
const column = (page: Page, name: string) =>
  page.getByRole("textbox", { name: `Description for column ${name}`, exact: true });
const row = (page: Page, name: string) => page.getByRole("row", { name: new RegExp(`^${name}`) });

/** The text in the description editor, which may be CodeMirror or a plain text area. */
const typedText = (page: Page) =>
  editorOf(page).evaluate((field) => (field instanceof HTMLTextAreaElement ? field.value : field.textContent));

async function editDescription(page: Page, text: string): Promise<void> {
  await editButton(page).click();
  await expect(editorOf(page)).toBeFocused();
  await page.keyboard.press("Control+a");
  await page.keyboard.type(text);
}

async function editColumn(page: Page, name: string, text: string): Promise<void> {
  await row(page, name).hover();
  await page.getByRole("button", { name: new RegExp(`description for column ${name}$`) }).click();
  await expect(column(page, name)).toBeFocused();
  await page.keyboard.press("Control+a");
  await page.keyboard.type(text);
}

/** Answers the confirmation dialogs in turn and records their messages. */
function answerConfirmations(page: Page, ...answers: readonly ("stay" | "leave")[]): string[] {
  const confirmations: string[] = [];
  page.on("dialog", (dialog: Dialog) => {
    const answer = answers[confirmations.length];
    confirmations.push(dialog.message());
    void (answer === "leave" ? dialog.accept() : dialog.dismiss());
  });
  return confirmations;
}

const isOperation = (request: Request, name: string) =>
  request.url().endsWith("/api/graphql") && (request.postData() ?? "").includes(`${name}(`);

/** Returns to the window, which refreshes stale data, and waits for a query. Saving anything makes all data stale. */
async function returnToWindow(page: Page, operation: string): Promise<void> {
  const read = page.waitForResponse((response) => isOperation(response.request(), operation));
  await page.evaluate(() => window.dispatchEvent(new Event("visibilitychange")));
  await read;
}

test("Back and Forward ask before discarding text, and staying keeps everything", async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_back");
  await page.goto("/domains");
  await page.getByRole("link", { name: "Finance" }).first().click();
  await expect(page.getByRole("heading", { level: 1, name: "Finance" })).toBeVisible();
  await page.keyboard.press("/");
  await page.keyboard.type("story_back");
  await page.getByRole("group", { name: "Datasets" }).getByRole("option").first().click();
  await expect(page.locator("code.urn")).toHaveText(urn);
  await page.getByRole("link", { name: "History", exact: true }).click();
  await expect(page).toHaveURL(/show=history/);
  await page.goBack();
  await editDescription(page, "half a sentence");
  const confirmations = answerConfirmations(page, "stay", "stay", "leave");

  for (const direction of ["back", "forward"] as const) {
    const before = page.url();
    await page.evaluate((method) => window.history[method](), direction);
    await expect.poll(() => confirmations.length).toBe(direction === "back" ? 1 : 2);
    await expect.poll(() => page.url()).toBe(before);
    await expect.poll(() => typedText(page)).toBe("half a sentence");
  }
  await page.evaluate(() => window.history.back());
  await expect(page.getByRole("heading", { level: 1, name: "Finance" })).toBeVisible();
  expect(confirmations).toEqual([CONFIRMATION, CONFIRMATION, CONFIRMATION]);
  // The session history is intact.
  await page.goBack();
  await expect(page.getByRole("heading", { level: 1, name: "Domains" })).toBeVisible();
  await page.goForward();
  await page.goForward();
  await expect(page.locator("code.urn")).toHaveText(urn);
  await page.goForward();
  await expect(page).toHaveURL(/show=history/);
});

test("closing the window asks only if there is unsaved text", async ({ page, docent }) => {
  await page.goto(address(await createDataset(docent, "story_close")));
  await editDescription(page, "half a sentence");
  const confirmations = page.waitForEvent("dialog");
  await page.close({ runBeforeUnload: true });
  const confirmation = await confirmations;
  expect(confirmation.type()).toBe("beforeunload");
  await confirmation.dismiss();
  await expect.poll(() => typedText(page)).toBe("half a sentence");
  answerConfirmations(page, "leave");
  await page.keyboard.press("Escape");
  await expect(editButton(page)).toBeVisible();
  const closed = page.waitForEvent("close");
  await page.close({ runBeforeUnload: true });
  await closed;
});

test("signing out asks before discarding text", async ({ browser, docent }) => {
  // A separate session, because signing out ends it.
  const context = await browser.newContext();
  const page = await context.newPage();
  const urn = await createDataset(docent, "story_sign_out");
  await page.goto(`${docent.address}${address(urn)}`);
  await page.getByLabel("Username").fill(USER);
  await page.getByLabel("Password").fill(docent.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await editDescription(page, "half a sentence");
  const confirmations = answerConfirmations(page, "stay", "leave");
  const signOut = async () => {
    await page.getByRole("button", { name: /Account menu for/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
  };
  await signOut();
  await expect.poll(() => confirmations).toEqual([CONFIRMATION]);
  await expect.poll(() => typedText(page)).toBe("half a sentence");
  await signOut();
  await expect(page.getByLabel("Password")).toBeVisible();
  expect(confirmations).toHaveLength(2);
  await context.close();
});

test("unsaved text survives an expired session", WRITES, async ({ page, context, docent, cookies }) => {
  const urn = await createDataset(docent, "story_session");
  await page.goto(address(urn));
  await editDescription(page, "written before the session ended");
  await context.clearCookies();
  await page.getByRole("button", { name: "Save" }).click();
  const dialog = page.getByRole("dialog", { name: "Your session has expired" });
  await expect(dialog).toBeVisible();
  await expect(dialog.getByLabel("Username")).toHaveValue(USER);
  await expect(dialog.getByLabel("Password")).toBeFocused();
  await dialog.getByLabel("Password").fill("wrong");
  await page.keyboard.press("Enter");
  await expect(dialog.getByRole("alert")).toContainText("The user name or the password is wrong");
  await dialog.getByLabel("Password").fill(docent.password);
  await page.keyboard.press("Enter");
  await expect(dialog).toBeHidden();
  await expect.poll(() => typedText(page)).toBe("written before the session ended");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(editButton(page)).toBeVisible();
  expect(await storedDescription(docent, urn)).toBe("written before the session ended");

  await editColumn(page, "city", "a column, too");
  await context.clearCookies();
  await page.keyboard.press("Control+Enter");
  await expect(dialog).toBeVisible();
  await dialog.getByLabel("Password").fill(docent.password);
  await page.keyboard.press("Enter");
  await expect(dialog).toBeHidden();
  await expect(row(page, "city")).toContainText("a column, too");
  await row(page, "city").getByRole("button", { name: "Try again" }).click();
  await expect(row(page, "city").getByRole("alert")).toBeHidden();
  await saved(page);
  expect(await storedColumnDescription(docent, urn, "city")).toBe("a column, too");
  await context.addCookies([...cookies]);
});

test("signing in as a different user discards unsaved text after a confirmation", async ({ page, context, docent }) => {
  const urn = await createDataset(docent, "story_somebody_else");
  await page.goto(address(urn));
  await editDescription(page, "somebody's secret");
  await context.clearCookies();
  await page.getByRole("button", { name: "Save" }).click();
  const other = page.getByRole("button", { name: "Sign in as a different user" });
  const confirmations = answerConfirmations(page, "stay", "leave");
  await other.click();
  expect(confirmations).toEqual([CONFIRMATION]);
  await expect(page.getByText("somebody's secret").first()).toBeAttached();
  await other.click();
  await expect(page.getByRole("dialog")).toBeHidden();
  await expect(page.getByLabel("Username")).toHaveValue("");
  await expect(page.getByText("somebody's secret")).toHaveCount(0);
});

test("a page that can't be refreshed stays and says so", WRITES, async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_outage");
  await page.goto(address(urn));
  await editColumn(page, "id", "makes all data stale");
  await page.keyboard.press("Control+Enter");
  await saved(page);
  await editDescription(page, "written during an outage");
  await page.route("**/api/graphql", (route) => route.abort());
  await page.evaluate(() => window.dispatchEvent(new Event("visibilitychange")));
  await expect(page.getByText(/This page may be out of date.* Can't reach the server/).first()).toBeVisible();
  await expect.poll(() => typedText(page)).toBe("written during an outage");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("alert")).toContainText("Can't reach the server");
  await page.unroute("**/api/graphql");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(editButton(page)).toBeVisible();
  await expect(page.getByText(/This page may be out of date/)).toHaveCount(0);
  expect(await storedDescription(docent, urn)).toBe("written during an outage");
});

test("a dataset deleted during an edit stays open with its text", async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_deleted");
  await page.goto(address(urn));
  await editColumn(page, "id", "makes all data stale");
  await page.keyboard.press("Control+Enter");
  await saved(page);
  await editDescription(page, "about a deleted dataset");
  await docent.remove(urn);
  await returnToWindow(page, "Dataset");
  await expect(page.getByText(/This dataset has been deleted/)).toBeVisible();
  await expect.poll(() => typedText(page)).toBe("about a deleted dataset");
});

test("a column save is checked against the text at the start of the edit", WRITES, async ({ page, docent }) => {
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
  await row(page, "city").getByRole("button", { name: "Edit description for column city" }).click();
  await expect(column(page, "city")).toHaveValue("Mine");
  await page.keyboard.press("End");
  await page.keyboard.type(" and theirs");
  await page.keyboard.press("Control+Enter");
  await expect(conflict).toBeHidden();
  await saved(page);
  expect(await storedColumnDescription(docent, urn, "city")).toBe("Mine and theirs");
});

test("a conflict shows who changed the description and when", async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_who");
  await page.goto(address(urn));
  await editDescription(page, "My own text.");
  await describe(docent, urn, "Their text.");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("alert")).toContainText(/Their text\.\s*Edited just now by DataHub/);
});

test("the text stays when the conflicting version can't be loaded", async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_unseen_conflict");
  await page.goto(address(urn));
  await editDescription(page, "My own text.");
  await editColumn(page, "city", "My own column.");
  await describe(docent, urn, "Their text.");
  await describe(docent, urn, "Their column.", "city");
  await page.route("**/api/graphql", (route) => {
    const isConflictQuery =
      isOperation(route.request(), "CurrentDescription") || isOperation(route.request(), "CurrentColumnDescription");
    return isConflictQuery ? route.abort() : route.continue();
  });
  await page.keyboard.press("Control+Enter");
  await expect(row(page, "city").getByRole("alert")).toContainText("Can't reach the server");
  await expect(row(page, "city").getByRole("alert")).toContainText("My own column.");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.locator(".description-editor").getByRole("alert")).toContainText("Can't reach the server");
  await expect.poll(() => typedText(page)).toBe("My own text.");
  await page.unroute("**/api/graphql");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.locator(".description-editor").getByRole("alert")).toContainText("Their text.");
  await row(page, "city").getByRole("button", { name: "Try again" }).click();
  await expect(row(page, "city").getByRole("alert")).toContainText("Their column.");
  expect(await storedDescription(docent, urn)).toBe("Their text.");
  expect(await storedColumnDescription(docent, urn, "city")).toBe("Their column.");
});

test("a save whose response was lost is not a conflict", WRITES, async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_lost_answer");
  await page.goto(address(urn));
  await page.route("**/api/graphql", async (route) => {
    if (!isOperation(route.request(), "UpdateDescription")) return route.continue();
    await route.fetch();
    return route.abort();
  });
  await editDescription(page, "Saved");
  await page.keyboard.press("Control+Enter");
  await expect(page.locator(".description-editor").getByRole("alert")).toContainText("Can't reach the server");
  await editColumn(page, "city", "Also saved");
  await page.keyboard.press("Control+Enter");
  await expect(row(page, "city").getByRole("alert")).toContainText("Also saved");
  expect(await storedDescription(docent, urn)).toBe("Saved");
  expect(await storedColumnDescription(docent, urn, "city")).toBe("Also saved");
  await page.unroute("**/api/graphql");
  await row(page, "city").getByRole("button", { name: "Try again" }).click();
  await saved(page);
  await page.getByRole("button", { name: "Save" }).click();
  await expect(editButton(page)).toBeVisible();
  await expect(page.getByRole("alert")).toHaveCount(0);
});

test("text typed during a save is kept", WRITES, async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_typing_on");
  await page.goto(address(urn));
  await editDescription(page, "The first half");
  const release = await holdRequests(page, (request) => isOperation(request, "UpdateDescription"));
  await page.keyboard.press("Control+Enter");
  await expect(page.getByRole("button", { name: "Saving…" })).toBeVisible();
  await page.keyboard.type(" and the second");
  release();
  await expect(page.getByText("Saved. You have newer unsaved changes.")).toBeVisible();
  expect(await storedDescription(docent, urn)).toBe("The first half");
  await expect.poll(() => typedText(page)).toBe("The first half and the second");
  await page.keyboard.press("Control+Enter");
  await expect(editButton(page)).toBeVisible();
  expect(await storedDescription(docent, urn)).toBe("The first half and the second");
});

test("a save that finishes late does not close the next editor", WRITES, async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_closed_early");
  await page.goto(address(urn));
  await editDescription(page, "The first text");
  const release = await holdRequests(page, (request) => isOperation(request, "UpdateDescription"));
  await page.keyboard.press("Control+Enter");
  await expect(page.getByRole("button", { name: "Saving…" })).toBeVisible();
  const confirmations = answerConfirmations(page, "leave", "leave");
  await page.keyboard.press("Escape");
  await expect.poll(() => confirmations).toEqual([CONFIRMATION]);
  await editDescription(page, "The second text");
  const refreshed = page.waitForResponse((response) => isOperation(response.request(), "Dataset"));
  release();
  await refreshed;
  await page.waitForLoadState("networkidle");
  await expect.poll(() => typedText(page)).toBe("The second text");
  // The draft is still stored in the tab.
  await page.reload();
  await expect.poll(() => typedText(page)).toBe("The second text");
});

test("a draft that was saved after all is not restored later", async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_stored_draft");
  await page.goto(address(urn));
  await editDescription(page, "Saved");
  await page.route("**/api/graphql", async (route) => {
    if (!isOperation(route.request(), "UpdateDescription")) return route.continue();
    await route.fetch();
    return route.abort();
  });
  await page.keyboard.press("Control+Enter");
  await expect(page.locator(".description-editor").getByRole("alert")).toContainText("Can't reach the server");
  await page.reload();
  await expect(editButton(page)).toBeVisible();
  await describe(docent, urn, "Their text.");
  await page.reload();
  await expect(page.getByText("Their text.")).toBeVisible();
  await expect(editButton(page)).toBeVisible();
});

const MANY = Array.from({ length: 300 }, (_, number) => `column_${String(number).padStart(3, "0")}`);

test("a column with a failed save stays visible under any filter", WRITES, async ({ page, docent }) => {
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
  await page.getByRole("link", { name: "Domains" }).click();
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
});

test("the column being edited stays open when it is scrolled out of view", async ({ page, docent }) => {
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
  page.once("dialog", (dialog) => void dialog.dismiss());
  await page.getByRole("link", { name: "Domains" }).click();
  await expect(orphaned).toBeVisible();
  await orphaned.getByRole("button", { name: "Discard" }).click();
  await expect(orphaned).toBeHidden();
});

test("clicking elsewhere saves a column without a confirmation", WRITES, async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_click_away");
  await page.goto(address(urn));
  await editColumn(page, "city", "Saved by leaving");
  const confirmations = answerConfirmations(page);
  await page.getByRole("link", { name: "Domains" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Domains" })).toBeVisible();
  expect(confirmations).toEqual([]);
  expect(await storedColumnDescription(docent, urn, "city")).toBe("Saved by leaving");
});

test("a conflict found while leaving the page is shown first", async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_click_conflict");
  await page.goto(address(urn));
  await editColumn(page, "city", "Mine");
  await describe(docent, urn, "Theirs", "city");
  const confirmations = answerConfirmations(page, "stay");
  await page.getByRole("link", { name: "Domains" }).click();
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
  expect(confirmations).toHaveLength(4);
  expect(written).toEqual([]);
  expect(await storedColumnDescription(docent, urn, "city")).toBeUndefined();
});

test("Esc and clicks outside a dialog ask before discarding its text", async ({ page }) => {
  await page.goto("/");
  await page.getByRole("link", { name: "Domains", exact: true }).click();
  await page.getByRole("button", { name: "New domain" }).click();
  const dialog = page.getByRole("dialog", { name: "New domain" });
  await dialog.getByLabel("Description").fill("A long text about a domain");
  const confirmations = answerConfirmations(page, "stay", "stay", "stay", "leave");
  await page.keyboard.press("Escape");
  await expect.poll(() => confirmations.length).toBe(1);
  await page.mouse.click(5, 5);
  await expect.poll(() => confirmations.length).toBe(2);
  await page.evaluate(() => window.history.back());
  await expect.poll(() => confirmations.length).toBe(3);
  await expect(dialog.getByLabel("Description")).toHaveValue("A long text about a domain");
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  // No confirmation without changes.
  await page.getByRole("button", { name: "New domain" }).click();
  await expectFocusInside(dialog);
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  expect(confirmations).toHaveLength(4);
});

test("an unsaved description is restored after a reload", WRITES, async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_draft");
  await describe(docent, urn, "The first text.");
  await page.goto(address(urn));
  await editDescription(page, "Half a sentence");
  await page.reload();
  await expect(page.getByText("Unsaved draft restored")).toBeVisible();
  await expect.poll(() => typedText(page)).toBe("Half a sentence");
  // It is still based on the text at the start of the edit.
  await describe(docent, urn, "Their text.");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("alert")).toContainText("Their text.");
  await page.getByRole("button", { name: "Overwrite with mine" }).click();
  await expect(editButton(page)).toBeVisible();
  expect(await storedDescription(docent, urn)).toBe("Half a sentence");
  await page.reload();
  await expect(editButton(page)).toBeVisible();

  // Discarded text is not restored.
  await editDescription(page, "Never mind");
  const confirmations = answerConfirmations(page, "leave", "leave");
  await page.keyboard.press("Escape");
  await expect(editButton(page)).toBeVisible();
  await page.reload();
  await expect(editButton(page)).toBeVisible();
  await editDescription(page, "Never mind");
  await page.getByRole("link", { name: "Domains" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Domains" })).toBeVisible();
  await page.goBack();
  await expect(editButton(page)).toBeVisible();
  expect(confirmations).toEqual([CONFIRMATION, CONFIRMATION]);
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
  page.once("dialog", (dialog) => void dialog.accept());
  await page.keyboard.press("Escape");
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
