// Unsaved text is never lost, and concurrent changes are never overwritten silently.

import {
  address,
  createDataset,
  describe,
  saved,
  storedColumnDescription,
  storedDescription,
} from "./datasets.ts";
import {
  answerConfirmations,
  CONFIRMATION,
  editButton,
  editColumn,
  editDescription,
  isOperation,
  returnToWindow,
  row,
  typedText,
} from "./editing.ts";
import {
  browse,
  expect,
  expectFocusInside,
  holdRequests,
  test,
  USER,
  WRITES,
  serveBuiltPage,
} from "./fixtures.ts";

test("Back and Forward ask before discarding text, and staying keeps everything", async ({
  page,
  docent,
}) => {
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
  await expect.poll(() => confirmations).toEqual([CONFIRMATION, CONFIRMATION, CONFIRMATION]);
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
  await serveBuiltPage(context, docent.address);
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
  await expect.poll(() => confirmations.length).toBe(2);
  await context.close();
});

test(
  "unsaved text survives an expired session",
  WRITES,
  async ({ page, context, docent, cookies }) => {
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
    await expect(dialog.getByRole("alert")).toContainText("The username or the password is wrong");
    await dialog.getByLabel("Password").fill(docent.password);
    await page.keyboard.press("Enter");
    await expect(dialog).toBeHidden();
    await expect.poll(() => typedText(page)).toBe("written before the session ended");
    await expect(page.getByText(/Your session has expired/)).toHaveCount(0);
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
    await expect(row(page, "city").getByRole("alert")).toContainText("Not saved yet.");
    await row(page, "city").getByRole("button", { name: "Try again" }).click();
    await expect(row(page, "city").getByRole("alert")).toBeHidden();
    await saved(page);
    expect(await storedColumnDescription(docent, urn, "city")).toBe("a column, too");
    await context.addCookies([...cookies]);
  },
);

test("signing in as a different user discards unsaved text after a confirmation", async ({
  page,
  context,
  docent,
}) => {
  const urn = await createDataset(docent, "story_somebody_else");
  await page.goto(address(urn));
  await editDescription(page, "somebody's secret");
  await context.clearCookies();
  await page.getByRole("button", { name: "Save" }).click();
  const other = page.getByRole("button", { name: "Sign in as a different user" });
  const confirmations = answerConfirmations(page, "stay", "leave");
  await other.click();
  await expect.poll(() => confirmations).toEqual([CONFIRMATION]);
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
  await expect(
    page.getByText(/This page may be out of date.* Can't reach the server/).first(),
  ).toBeVisible();
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

test(
  "saving a change of a deleted dataset says so, and keeps the text",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_deleted_meanwhile");
    await page.goto(address(urn));
    await editDescription(page, "Typed before it was deleted.");
    await docent.remove(urn);
    await page.getByRole("button", { name: "Save" }).click();
    const editor = page.locator(".description-editor");
    await expect(editor.getByRole("alert")).toContainText("has been deleted since you opened it");
    await expect(editor.getByRole("alert")).not.toContainText("urn:li:");
    expect(await typedText(page)).toBe("Typed before it was deleted.");
    await editColumn(page, "city", "The city.");
    await page.keyboard.press("Control+Enter");
    await expect(row(page, "city").getByRole("alert")).toContainText("has been deleted");
    await expect(row(page, "city").getByRole("alert")).toContainText("The city.");
    await page.getByRole("button", { name: "Add tag" }).click();
    await page.getByRole("dialog").getByRole("option").first().click();
    await expect(page.getByRole("dialog").getByRole("alert")).toContainText("has been deleted");
  },
);

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
      isOperation(route.request(), "CurrentDescription") ||
      isOperation(route.request(), "CurrentColumnDescription");
    return isConflictQuery ? route.abort() : route.continue();
  });
  await page.keyboard.press("Control+Enter");
  await expect(row(page, "city").getByRole("alert")).toContainText("Can't reach the server");
  await expect(row(page, "city").getByRole("alert")).toContainText("My own column.");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.locator(".description-editor").getByRole("alert")).toContainText(
    "Can't reach the server",
  );
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
  await expect(page.locator(".description-editor").getByRole("alert")).toContainText(
    "Can't reach the server",
  );
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

test(
  "a save that finishes late does not close the next editor",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_closed_early");
    await page.goto(address(urn));
    await editDescription(page, "The first text");
    const release = await holdRequests(page, (request) =>
      isOperation(request, "UpdateDescription"),
    );
    await page.keyboard.press("Control+Enter");
    await expect(page.getByRole("button", { name: "Saving…" })).toBeVisible();
    const confirmations = answerConfirmations(page, "leave", "leave");
    await page.keyboard.press("Escape");
    await expect.poll(() => confirmations).toEqual([CONFIRMATION]);
    await editDescription(page, "The second text");
    const refreshed = page.waitForResponse((response) =>
      isOperation(response.request(), "Dataset"),
    );
    release();
    await refreshed;
    await page.waitForLoadState("networkidle");
    await expect.poll(() => typedText(page)).toBe("The second text");
    // The draft is still stored in the tab.
    await page.reload();
    await expect.poll(() => typedText(page)).toBe("The second text");
  },
);

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
  await expect(page.locator(".description-editor").getByRole("alert")).toContainText(
    "Can't reach the server",
  );
  await page.reload();
  await expect(editButton(page)).toBeVisible();
  await describe(docent, urn, "Their text.");
  await page.reload();
  await expect(page.getByText("Their text.")).toBeVisible();
  await expect(editButton(page)).toBeVisible();
});

test("Esc and clicks outside a dialog ask before discarding its text", async ({ page }) => {
  await page.goto("/");
  await browse(page, "Domains");
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
  await expect.poll(() => confirmations.length).toBe(4);
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
  await browse(page, "Domains");
  await expect(page.getByRole("heading", { level: 1, name: "Domains" })).toBeVisible();
  await page.goBack();
  await expect(editButton(page)).toBeVisible();
  await expect.poll(() => confirmations).toEqual([CONFIRMATION, CONFIRMATION]);
});
