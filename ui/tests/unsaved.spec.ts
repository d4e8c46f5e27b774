// Nothing that a person typed is lost, and nothing that somebody else wrote is written over.

import type { Dialog, Page, Request } from "@playwright/test";

import { address, describe, described, describedColumn, made, saved } from "./datasets.ts";
import { USER, WRITES, expect, hearsKeys, holdRequests, test } from "./docent.ts";

const QUESTION = "The text is not saved. Throw it away?";

const editorOf = (page: Page) => page.getByRole("textbox", { name: "Text of the description, in Markdown" });
const editButton = (page: Page) => page.getByRole("button", { name: "Edit the description", exact: true });
const column = (page: Page, name: string) =>
  page.getByRole("textbox", { name: `Description of the column ${name}`, exact: true });
const row = (page: Page, name: string) => page.getByRole("row", { name: new RegExp(`^${name}`) });

/** What is in the editor of a description, whichever of both it is. */
const typedText = (page: Page) =>
  editorOf(page).evaluate((field) => (field instanceof HTMLTextAreaElement ? field.value : field.textContent));

async function beginDescription(page: Page, text: string): Promise<void> {
  await editButton(page).click();
  await expect(editorOf(page)).toBeFocused();
  await page.keyboard.press("Control+a");
  await page.keyboard.type(text);
}

async function beginColumn(page: Page, name: string, text: string): Promise<void> {
  await row(page, name).hover();
  await page.getByRole("button", { name: new RegExp(`description of the column ${name}$`) }).click();
  await expect(column(page, name)).toBeFocused();
  await page.keyboard.press("Control+a");
  await page.keyboard.type(text);
}

/** Answers the questions of the page in turn and remembers them. */
function answering(page: Page, ...answers: readonly ("stay" | "leave")[]): string[] {
  const asked: string[] = [];
  page.on("dialog", (dialog: Dialog) => {
    const answer = answers[asked.length];
    asked.push(dialog.message());
    void (answer === "leave" ? dialog.accept() : dialog.dismiss());
  });
  return asked;
}

const isOperation = (request: Request, name: string) =>
  request.url().endsWith("/api/graphql") && (request.postData() ?? "").includes(`${name}(`);

/** Whoever comes back to the window makes the page read again what may be old. Saving something makes all of it old. */
async function comeBackToTheWindow(page: Page, operation: string): Promise<void> {
  const read = page.waitForResponse((response) => isOperation(response.request(), operation));
  await page.evaluate(() => window.dispatchEvent(new Event("visibilitychange")));
  await read;
}

test("going back and forward asks before text is lost, and staying leaves everything as it was", async ({
  page,
  docent,
}) => {
  const urn = await made(docent, "story_back");
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
  await beginDescription(page, "half a sentence");
  const asked = answering(page, "stay", "stay", "leave");

  for (const direction of ["back", "forward"] as const) {
    const before = page.url();
    await page.evaluate((way) => window.history[way](), direction);
    await expect.poll(() => asked.length).toBe(direction === "back" ? 1 : 2);
    await expect.poll(() => page.url()).toBe(before);
    await expect.poll(() => typedText(page)).toBe("half a sentence");
  }
  await page.evaluate(() => window.history.back());
  await expect(page.getByRole("heading", { level: 1, name: "Finance" })).toBeVisible();
  expect(asked).toEqual([QUESTION, QUESTION, QUESTION]);
  // What was behind one is still there.
  await page.goBack();
  await expect(page.getByRole("heading", { level: 1, name: "Domains" })).toBeVisible();
  await page.goForward();
  await page.goForward();
  await expect(page.locator("code.urn")).toHaveText(urn);
  await page.goForward();
  await expect(page).toHaveURL(/show=history/);
});

test("closing the window asks before text is lost, and only then", async ({ page, docent }) => {
  await page.goto(address(await made(docent, "story_close")));
  await beginDescription(page, "half a sentence");
  const asked = page.waitForEvent("dialog");
  await page.close({ runBeforeUnload: true });
  const question = await asked;
  expect(question.type()).toBe("beforeunload");
  await question.dismiss();
  await expect.poll(() => typedText(page)).toBe("half a sentence");
  answering(page, "leave");
  await page.keyboard.press("Escape");
  await expect(editButton(page)).toBeVisible();
  const closed = page.waitForEvent("close");
  await page.close({ runBeforeUnload: true });
  await closed;
});

test("signing out asks before text is lost", async ({ browser, docent }) => {
  // A session of its own: signing out ends it.
  const context = await browser.newContext();
  const page = await context.newPage();
  const urn = await made(docent, "story_sign_out");
  await page.goto(`${docent.address}${address(urn)}`);
  await page.getByLabel("User name").fill(USER);
  await page.getByLabel("Password").fill(docent.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await beginDescription(page, "half a sentence");
  const asked = answering(page, "stay", "leave");
  const signOut = async () => {
    await page.getByRole("button", { name: /Account of/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
  };
  await signOut();
  await expect.poll(() => asked).toEqual([QUESTION]);
  await expect.poll(() => typedText(page)).toBe("half a sentence");
  await signOut();
  await expect(page.getByLabel("Password")).toBeVisible();
  expect(asked).toHaveLength(2);
  await context.close();
});

test("a session that ends leaves what was typed where it is", WRITES, async ({ page, context, docent, cookies }) => {
  const urn = await made(docent, "story_session");
  await page.goto(address(urn));
  await beginDescription(page, "written before the session ended");
  await context.clearCookies();
  await page.getByRole("button", { name: "Save" }).click();
  const dialog = page.getByRole("dialog", { name: "Your session has ended" });
  await expect(dialog).toBeVisible();
  await expect(dialog.getByLabel("User name")).toHaveValue(USER);
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
  expect(await described(docent, urn)).toBe("written before the session ended");

  await beginColumn(page, "city", "a column, too");
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
  expect(await describedColumn(docent, urn, "city")).toBe("a column, too");
  await context.addCookies([...cookies]);
});

test("whoever comes after a session that ended begins anew, if the first one agrees", async ({
  page,
  context,
  docent,
}) => {
  const urn = await made(docent, "story_somebody_else");
  await page.goto(address(urn));
  await beginDescription(page, "somebody's secret");
  await context.clearCookies();
  await page.getByRole("button", { name: "Save" }).click();
  const other = page.getByRole("button", { name: "Sign in as somebody else" });
  const asked = answering(page, "stay", "leave");
  await other.click();
  expect(asked).toEqual([QUESTION]);
  await expect(page.getByText("somebody's secret").first()).toBeAttached();
  await other.click();
  await expect(page.getByRole("dialog")).toBeHidden();
  await expect(page.getByLabel("User name")).toHaveValue("");
  await expect(page.getByText("somebody's secret")).toHaveCount(0);
});

test("a page that cannot be read again stays, with a word about it", WRITES, async ({ page, docent }) => {
  const urn = await made(docent, "story_outage");
  await page.goto(address(urn));
  await beginColumn(page, "id", "makes everything old");
  await page.keyboard.press("Control+Enter");
  await saved(page);
  await beginDescription(page, "written during an outage");
  await page.route("**/api/graphql", (route) => route.abort());
  await page.evaluate(() => window.dispatchEvent(new Event("visibilitychange")));
  await expect(page.getByText(/What is shown may be old.* The server does not answer/).first()).toBeVisible();
  await expect.poll(() => typedText(page)).toBe("written during an outage");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("alert")).toContainText("The server does not answer");
  await page.unroute("**/api/graphql");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(editButton(page)).toBeVisible();
  await expect(page.getByText(/What is shown may be old/)).toHaveCount(0);
  expect(await described(docent, urn)).toBe("written during an outage");
});

test("a dataset that is deleted while somebody writes about it stays until they leave", async ({ page, docent }) => {
  const urn = await made(docent, "story_deleted");
  await page.goto(address(urn));
  await beginColumn(page, "id", "makes everything old");
  await page.keyboard.press("Control+Enter");
  await saved(page);
  await beginDescription(page, "about something that is gone");
  await docent.remove(urn);
  await comeBackToTheWindow(page, "Dataset");
  await expect(page.getByText(/This dataset has been deleted meanwhile/)).toBeVisible();
  await expect.poll(() => typedText(page)).toBe("about something that is gone");
});

test("a column's text is held against what was there when one began", WRITES, async ({ page, docent }) => {
  const urn = await made(docent, "story_base");
  await page.goto(address(urn));
  await beginColumn(page, "id", "makes everything old");
  await page.keyboard.press("Control+Enter");
  await saved(page);
  await beginColumn(page, "city", "Mine");
  await describe(docent, urn, "Theirs", "city");
  await comeBackToTheWindow(page, "Columns");
  await expect(column(page, "city")).toHaveValue("Mine");
  await page.keyboard.press("Control+Enter");
  const conflict = row(page, "city").getByRole("alert");
  await expect(conflict).toContainText("Theirs");
  await expect(conflict).toContainText("Mine");
  await expect(conflict).toContainText(/Changed by DataHub, this minute\./);
  expect(await describedColumn(docent, urn, "city")).toBe("Theirs");
  // Going on with it begins with one's own text, now in place of theirs.
  await row(page, "city").getByRole("button", { name: "Edit the description of the column city" }).click();
  await expect(column(page, "city")).toHaveValue("Mine");
  await page.keyboard.press("End");
  await page.keyboard.type(" and theirs");
  await page.keyboard.press("Control+Enter");
  await expect(conflict).toBeHidden();
  await saved(page);
  expect(await describedColumn(docent, urn, "city")).toBe("Mine and theirs");
});

test("a conflict says who changed the description, and when", async ({ page, docent }) => {
  const urn = await made(docent, "story_who");
  await page.goto(address(urn));
  await beginDescription(page, "My own text.");
  await describe(docent, urn, "Their text.");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("alert")).toContainText(/Their text\.\s*Changed by DataHub, this minute\./);
});

test("a conflict that cannot be looked at is said, and the text stays", async ({ page, docent }) => {
  const urn = await made(docent, "story_unseen_conflict");
  await page.goto(address(urn));
  await beginDescription(page, "My own text.");
  await beginColumn(page, "city", "My own column.");
  await describe(docent, urn, "Their text.");
  await describe(docent, urn, "Their column.", "city");
  await page.route("**/api/graphql", (route) => {
    const isLook = isOperation(route.request(), "HistoryText") || isOperation(route.request(), "ColumnText");
    return isLook ? route.abort() : route.continue();
  });
  await page.keyboard.press("Control+Enter");
  await expect(row(page, "city").getByRole("alert")).toContainText("The server does not answer");
  await expect(row(page, "city").getByRole("alert")).toContainText("My own column.");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.locator(".writing").getByRole("alert")).toContainText("The server does not answer");
  await expect.poll(() => typedText(page)).toBe("My own text.");
  await page.unroute("**/api/graphql");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.locator(".writing").getByRole("alert")).toContainText("Their text.");
  await row(page, "city").getByRole("button", { name: "Try again" }).click();
  await expect(row(page, "city").getByRole("alert")).toContainText("Their column.");
  expect(await described(docent, urn)).toBe("Their text.");
  expect(await describedColumn(docent, urn, "city")).toBe("Their column.");
});

test("a text that arrived although its answer was lost is no conflict", WRITES, async ({ page, docent }) => {
  const urn = await made(docent, "story_lost_answer");
  await page.goto(address(urn));
  await page.route("**/api/graphql", async (route) => {
    if (!isOperation(route.request(), "UpdateDescription")) return route.continue();
    await route.fetch();
    return route.abort();
  });
  await beginDescription(page, "Arrived");
  await page.keyboard.press("Control+Enter");
  await expect(page.locator(".writing").getByRole("alert")).toContainText("The server does not answer");
  await beginColumn(page, "city", "Arrived, too");
  await page.keyboard.press("Control+Enter");
  await expect(row(page, "city").getByRole("alert")).toContainText("Arrived, too");
  expect(await described(docent, urn)).toBe("Arrived");
  expect(await describedColumn(docent, urn, "city")).toBe("Arrived, too");
  await page.unroute("**/api/graphql");
  await row(page, "city").getByRole("button", { name: "Try again" }).click();
  await saved(page);
  await page.getByRole("button", { name: "Save" }).click();
  await expect(editButton(page)).toBeVisible();
  await expect(page.getByRole("alert")).toHaveCount(0);
});

test("what is typed while a description is being saved is not dropped", WRITES, async ({ page, docent }) => {
  const urn = await made(docent, "story_typing_on");
  await page.goto(address(urn));
  await beginDescription(page, "The first half");
  const goOn = await holdRequests(page, (request) => isOperation(request, "UpdateDescription"));
  await page.keyboard.press("Control+Enter");
  await expect(page.getByRole("button", { name: "Saving…" })).toBeVisible();
  await page.keyboard.type(" and the second");
  goOn();
  await expect(page.getByText("Saved. What you typed since then is not saved yet.")).toBeVisible();
  expect(await described(docent, urn)).toBe("The first half");
  await expect.poll(() => typedText(page)).toBe("The first half and the second");
  await page.keyboard.press("Control+Enter");
  await expect(editButton(page)).toBeVisible();
  expect(await described(docent, urn)).toBe("The first half and the second");
});

test("saving a text that one has closed does not close the next one", WRITES, async ({ page, docent }) => {
  const urn = await made(docent, "story_closed_early");
  await page.goto(address(urn));
  await beginDescription(page, "The first text");
  const goOn = await holdRequests(page, (request) => isOperation(request, "UpdateDescription"));
  await page.keyboard.press("Control+Enter");
  await expect(page.getByRole("button", { name: "Saving…" })).toBeVisible();
  const asked = answering(page, "leave", "leave");
  await page.keyboard.press("Escape");
  await expect.poll(() => asked).toEqual([QUESTION]);
  await beginDescription(page, "The second text");
  const readAgain = page.waitForResponse((response) => isOperation(response.request(), "Dataset"));
  goOn();
  await readAgain;
  await page.waitForLoadState("networkidle");
  await expect.poll(() => typedText(page)).toBe("The second text");
  // It is still kept in the tab, too.
  await page.reload();
  await expect.poll(() => typedText(page)).toBe("The second text");
});

test("a text that turns out to be saved does not come back after the next change", async ({ page, docent }) => {
  const urn = await made(docent, "story_stored_draft");
  await page.goto(address(urn));
  await beginDescription(page, "Arrived");
  await page.route("**/api/graphql", async (route) => {
    if (!isOperation(route.request(), "UpdateDescription")) return route.continue();
    await route.fetch();
    return route.abort();
  });
  await page.keyboard.press("Control+Enter");
  await expect(page.locator(".writing").getByRole("alert")).toContainText("The server does not answer");
  await page.reload();
  await expect(editButton(page)).toBeVisible();
  await describe(docent, urn, "Their text.");
  await page.reload();
  await expect(page.getByText("Their text.")).toBeVisible();
  await expect(editButton(page)).toBeVisible();
});

const MANY = Array.from({ length: 300 }, (_, number) => `column_${String(number).padStart(3, "0")}`);

test("a column that could not be saved stays in sight whatever is filtered", WRITES, async ({ page, docent }) => {
  const urn = await made(docent, "story_failed_filter", MANY);
  await page.goto(address(urn));
  await beginColumn(page, "column_002", "Typed in vain");
  await page.route("**/api/graphql", (route) => route.abort());
  await page.keyboard.press("Control+Enter");
  const failed = row(page, "column_002");
  await expect(failed.getByRole("alert")).toContainText("Typed in vain");
  await page.getByLabel("Filter columns").fill("column_299");
  await expect(row(page, "column_299")).toBeVisible();
  await expect(failed).toContainText("Typed in vain");
  await page.getByLabel("Filter columns").fill("nothing like that");
  await expect(failed).toContainText("Typed in vain");
  await page.getByLabel("Filter columns").fill("");
  await expect(page.getByText("The description of 1 column is not saved.")).toBeVisible();
  const asked = answering(page, "stay");
  await page.getByRole("link", { name: "Domains" }).click();
  await expect.poll(() => asked).toEqual([QUESTION]);
  // Whoever writes on goes on with what is not saved.
  await failed.getByRole("button", { name: "Add a description of the column column_002" }).click();
  await expect(column(page, "column_002")).toHaveValue("Typed in vain");
  await page.unroute("**/api/graphql");
  await page.keyboard.press("Control+End");
  await page.keyboard.type(", then not");
  await page.keyboard.press("Control+Enter");
  await expect(failed.getByRole("alert")).toBeHidden();
  await saved(page);
  expect(await describedColumn(docent, urn, "column_002")).toBe("Typed in vain, then not");
});

test("the column that is being described stays, however far one scrolls", async ({ page, docent }) => {
  const urn = await made(docent, "story_scrolled", MANY);
  await page.goto(address(urn));
  await beginColumn(page, "column_002", "half a sentence");
  await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
  await expect(page.getByRole("rowheader", { name: "column_299" })).toBeVisible();
  await expect(column(page, "column_002")).toHaveValue("half a sentence");
  await page.keyboard.type(", and the rest");
  await page.keyboard.press("Control+Enter");
  await page.evaluate(() => window.scrollTo(0, 0));
  await expect(row(page, "column_002")).toContainText("half a sentence, and the rest");
});

test("a column that disappears while it is described leaves its text behind", async ({ page, docent }) => {
  const urn = await made(docent, "story_column_gone");
  await page.goto(address(urn));
  await beginColumn(page, "id", "makes everything old");
  await page.keyboard.press("Control+Enter");
  await saved(page);
  await beginColumn(page, "city", "about a city");
  await made(docent, "story_column_gone", ["id", "name"]);
  await comeBackToTheWindow(page, "Columns");
  const left = page.getByRole("alert");
  await expect(left).toContainText("The column city is no longer there.");
  await expect(left).toContainText("about a city");
  page.once("dialog", (dialog) => void dialog.dismiss());
  await page.getByRole("link", { name: "Domains" }).click();
  await expect(left).toBeVisible();
  await left.getByRole("button", { name: "Throw it away" }).click();
  await expect(left).toBeHidden();
});

test("a column's text is saved by a click elsewhere without a question", WRITES, async ({ page, docent }) => {
  const urn = await made(docent, "story_click_away");
  await page.goto(address(urn));
  await beginColumn(page, "city", "Saved by leaving");
  const asked = answering(page);
  await page.getByRole("link", { name: "Domains" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Domains" })).toBeVisible();
  expect(asked).toEqual([]);
  expect(await describedColumn(docent, urn, "city")).toBe("Saved by leaving");
});

test("whoever leaves by a click hears of a conflict first", async ({ page, docent }) => {
  const urn = await made(docent, "story_click_conflict");
  await page.goto(address(urn));
  await beginColumn(page, "city", "Mine");
  await describe(docent, urn, "Theirs", "city");
  const asked = answering(page, "stay");
  await page.getByRole("link", { name: "Domains" }).click();
  await expect.poll(() => asked).toEqual([QUESTION]);
  await expect(row(page, "city").getByRole("alert")).toContainText("Theirs");
  await expect(row(page, "city").getByRole("alert")).toContainText("Mine");
});

test("a column's text that one agreed to throw away is not saved", async ({ page, docent }) => {
  const urn = await made(docent, "story_thrown_away");
  const written: string[] = [];
  page.on("request", (request) => {
    if (isOperation(request, "UpdateDescription")) written.push(request.postData() ?? "");
  });
  await page.goto("/domains");
  await expect(page.getByRole("heading", { level: 1, name: "Domains" })).toBeVisible();
  await page.keyboard.press("/");
  await page.keyboard.type("story_thrown_away");
  await page.getByRole("group", { name: "Datasets" }).getByRole("option").first().click();
  await beginColumn(page, "city", "Never mind");
  const asked = answering(page, "stay", "leave", "stay", "leave");
  await page.keyboard.press("Escape");
  await expect.poll(() => asked.length).toBe(1);
  await expect(column(page, "city")).toHaveValue("Never mind");
  await page.keyboard.press("Escape");
  await expect(column(page, "city")).toBeHidden();
  await beginColumn(page, "city", "Never mind");
  await page.evaluate(() => window.history.back());
  await expect.poll(() => asked.length).toBe(3);
  await expect(column(page, "city")).toHaveValue("Never mind");
  await page.evaluate(() => window.history.back());
  await expect(page.getByRole("heading", { level: 1, name: "Domains" })).toBeVisible();
  await page.waitForLoadState("networkidle");
  expect(asked).toHaveLength(4);
  expect(written).toEqual([]);
  expect(await describedColumn(docent, urn, "city")).toBeUndefined();
});

test("what was typed into a dialog is not thrown away by a key or a click beside it", async ({ page }) => {
  await page.goto("/");
  await page.getByRole("link", { name: "Domains", exact: true }).click();
  await page.getByRole("button", { name: "New domain" }).click();
  const dialog = page.getByRole("dialog", { name: "New domain" });
  await dialog.getByLabel("Description").fill("A long text about a domain");
  const asked = answering(page, "stay", "stay", "stay", "leave");
  await page.keyboard.press("Escape");
  await expect.poll(() => asked.length).toBe(1);
  await page.mouse.click(5, 5);
  await expect.poll(() => asked.length).toBe(2);
  await page.evaluate(() => window.history.back());
  await expect.poll(() => asked.length).toBe(3);
  await expect(dialog.getByLabel("Description")).toHaveValue("A long text about a domain");
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  // Nothing typed, nothing asked.
  await page.getByRole("button", { name: "New domain" }).click();
  await hearsKeys(dialog);
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  expect(asked).toHaveLength(4);
});

test(
  "a description that was not saved is there again after the page was read anew",
  WRITES,
  async ({ page, docent }) => {
    const urn = await made(docent, "story_draft");
    await describe(docent, urn, "The first text.");
    await page.goto(address(urn));
    await beginDescription(page, "Half a sentence");
    await page.reload();
    await expect(page.getByText("This is what you wrote before. It is not saved yet.")).toBeVisible();
    await expect.poll(() => typedText(page)).toBe("Half a sentence");
    // It still replaces what was there when it was begun, and nothing else.
    await describe(docent, urn, "Their text.");
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page.getByRole("alert")).toContainText("Their text.");
    await page.getByRole("button", { name: "Save mine instead" }).click();
    await expect(editButton(page)).toBeVisible();
    expect(await described(docent, urn)).toBe("Half a sentence");
    await page.reload();
    await expect(editButton(page)).toBeVisible();

    // What one agreed to throw away does not come back.
    await beginDescription(page, "Never mind");
    const asked = answering(page, "leave", "leave");
    await page.keyboard.press("Escape");
    await expect(editButton(page)).toBeVisible();
    await page.reload();
    await expect(editButton(page)).toBeVisible();
    await beginDescription(page, "Never mind");
    await page.getByRole("link", { name: "Domains" }).click();
    await expect(page.getByRole("heading", { level: 1, name: "Domains" })).toBeVisible();
    await page.goBack();
    await expect(editButton(page)).toBeVisible();
    expect(asked).toEqual([QUESTION, QUESTION]);
  },
);

test(
  "a column's text that was not saved is there again after the page was read anew",
  WRITES,
  async ({ page, docent }) => {
    const urn = await made(docent, "story_column_draft");
    await page.goto(address(urn));
    await beginColumn(page, "city", "Half a sentence");
    await page.reload();
    const kept = row(page, "city").getByRole("alert");
    await expect(kept).toContainText("This is what you wrote before. It is not saved yet.");
    await expect(kept).toContainText("Half a sentence");
    await kept.getByRole("button", { name: "Try again" }).click();
    await expect(kept).toBeHidden();
    await saved(page);
    expect(await describedColumn(docent, urn, "city")).toBe("Half a sentence");

    // What could not be saved stays, too; what one agreed to throw away does not come back.
    await beginColumn(page, "id", "Typed in vain");
    await page.route("**/api/graphql", (route) => route.abort());
    await page.keyboard.press("Tab");
    await expect(column(page, "name")).toBeFocused();
    await page.keyboard.type("Never mind");
    page.once("dialog", (dialog) => void dialog.accept());
    await page.keyboard.press("Escape");
    await expect(row(page, "id").getByRole("alert")).toContainText("The server does not answer");
    await page.unroute("**/api/graphql");
    await page.reload();
    await expect(row(page, "id").getByRole("alert")).toContainText("Typed in vain");
    await expect(page.getByText("Never mind")).toHaveCount(0);
    await row(page, "id").getByRole("button", { name: "Throw it away" }).click();
    await page.reload();
    await expect(row(page, "city")).toContainText("Half a sentence");
    await expect(page.getByRole("alert")).toHaveCount(0);
  },
);
