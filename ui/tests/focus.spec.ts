// Keyboard focus: dialogs and editors return it, and shortcuts do not work in text fields, menus
// and dialogs.

import { address, createDataset, describe, saved } from "./datasets.ts";
import { expect, expectFocusInside, holdRequests, test } from "./fixtures.ts";

test("closing the description editor returns the focus to its button", async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_focus_description");
  await page.goto(address(urn));
  const edit = page.getByRole("button", { name: "Edit description", exact: true });
  const editor = page.getByRole("textbox", { name: "Description (Markdown)" });
  await edit.click();
  await expect(editor).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(edit).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(editor).toBeFocused();
  await page.keyboard.press("Control+a");
  await page.keyboard.type("Saved by keys");
  await page.keyboard.press("Control+Enter");
  await expect(edit).toBeFocused();

  // Unless the user has moved the focus meanwhile.
  await page.keyboard.press("Enter");
  await expect(editor).toBeFocused();
  await page.keyboard.type(" and more");
  const release = await holdRequests(page);
  await page.keyboard.press("Control+Enter");
  const search = page.getByRole("combobox", { name: "Search the catalog" });
  await search.click();
  release();
  await expect(edit).toBeVisible();
  await expect(search).toBeFocused();
});

test("closing a column editor returns the focus to its button", async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_focus_column");
  await page.goto(address(urn));
  const add = (name: string) =>
    page.getByRole("button", { name: `Add description for column ${name}` });
  const field = (name: string) =>
    page.getByRole("textbox", { name: `Description for column ${name}`, exact: true });
  await add("city").click();
  await expect(field("city")).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(add("city")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(field("city")).toBeFocused();
  await page.keyboard.type("A city");
  // The last column has no next one.
  await page.keyboard.press("Tab");
  await expect(
    page.getByRole("button", { name: "Edit description for column city" }),
  ).toBeFocused();
  await saved(page);
  await add("id").click();
  await page.keyboard.type("A number");
  await page.keyboard.press("Control+Enter");
  await expect(page.getByRole("button", { name: "Edit description for column id" })).toBeFocused();
});

test("dialogs return the focus to the element that opened them, also from a menu", async ({
  page,
}) => {
  await page.goto("/domains");
  const create = page.getByRole("button", { name: "New domain" });
  const dialog = page.getByRole("dialog");
  await create.click();
  await expect(dialog.getByLabel("Name")).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(create).toBeFocused();

  const actions = page.getByRole("button", { name: "Actions for Finance", exact: true });
  await actions.click();
  await page.getByRole("menuitem", { name: "Rename…" }).click();
  await expect(dialog.getByLabel("Name")).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  await expect(actions).toBeFocused();

  await actions.click();
  await page.getByRole("menuitem", { name: "Move…" }).click();
  await expect(dialog.getByRole("combobox", { name: "Filter domains" })).toBeFocused();
  await page.keyboard.type("sales");
  await page.keyboard.press("Enter");
  await expect(dialog).toContainText("Move to");
  await expect(dialog.getByRole("button", { name: "Move", exact: true })).toBeFocused();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await expect(dialog).toBeHidden();
  await expect(actions).toBeFocused();

  await page.keyboard.press("?");
  await expectFocusInside(page.getByRole("dialog", { name: "Keyboard shortcuts" }));
  await page.keyboard.press("Escape");
  await expect(actions).toBeFocused();
});

test("a new domain gets the focus, and after a deletion the next domain does", async ({
  page,
  docent,
}) => {
  const createDomain = (id: string, name: string, parent: string) =>
    docent.graphql(
      `mutation { createDomain(input: { id: "${id}", name: "${name}"${parent === "" ? "" : `, parentDomain: "urn:li:domain:${parent}"`} }) }`,
    );
  await createDomain("focus-outer", "Focus outer", "");
  await createDomain("focus-first", "Focus first", "focus-outer");
  await createDomain("focus-second", "Focus second", "focus-outer");
  await page.goto("/domains");
  await page.getByRole("button", { name: "Collapse Focus outer" }).click();
  await page.getByRole("button", { name: "Actions for Focus outer" }).click();
  await page.getByRole("menuitem", { name: "New subdomain" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("focus First");
  await expect(dialog.getByRole("status")).toContainText(
    "A domain named “Focus first” already exists here.",
  );
  await dialog.getByLabel("Name").fill("Focus made");
  await expect(dialog.getByRole("status")).toBeEmpty();
  await dialog.getByLabel("Description").fill("Made by keys");
  await page.keyboard.press("Control+Enter");
  await expect(dialog).toBeHidden();
  const link = (name: string) => page.getByRole("link", { name, exact: true });
  await expect(link("Focus made")).toBeFocused();
  await expect(link("Focus made")).toBeInViewport();

  await page.getByRole("button", { name: "Actions for Focus made" }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(link("Focus made")).toBeHidden();
  await expect(link("Focus second")).toBeFocused();
});

test("the domain picker starts at the current domain", async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_picker_current");
  await docent.graphql(
    `mutation { setDomain(entityUrn: "${urn}", domainUrn: "urn:li:domain:sales") }`,
  );
  await page.goto(address(urn));
  const edit = page.getByRole("button", { name: "Edit domain" });
  await edit.focus();
  await page.keyboard.press("Enter");
  const current = page.getByRole("option", { name: /Sales/ });
  await expect(current).toHaveAttribute("aria-selected", "true");
  await expect(current).toBeInViewport();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toBeHidden();
  await expect(page.getByRole("link", { name: "Sales", exact: true })).toBeVisible();
});

test("the focus stays in the content if the element that opened a dialog is gone", async ({
  page,
}) => {
  await page.goto("/settings/tokens");
  await page.getByRole("button", { name: "New token" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("for the focus");
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByRole("button", { name: "Done" }).click();
  await expect(page.getByRole("button", { name: "New token" })).toBeFocused();
  await page.getByRole("button", { name: "Revoke token for the focus" }).click();
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await expect(dialog).toBeHidden();
  await expect(page.getByRole("row", { name: /for the focus/ })).toBeHidden();
  const isInContent = () =>
    page.evaluate(
      () => document.getElementById("content")?.contains(document.activeElement) === true,
    );
  await expect.poll(isInContent).toBe(true);
});

test("shortcuts do not work in menus, dialogs and text fields", async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_keys");
  await page.goto(address(urn));
  // By selector, because elements behind a dialog have no role.
  const search = page.locator("header input[type=search]");
  const shortcuts = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  const editor = page.getByRole("textbox", { name: "Description (Markdown)" });
  const pressEach = async (check: () => Promise<void>) => {
    for (const key of ["/", "?", "Control+k", "e", "g", "h"]) {
      await page.keyboard.press(key);
      await expect(search).not.toBeFocused();
      await check();
    }
  };

  await page.getByRole("button", { name: /Account menu for/ }).click();
  await expect(page.getByRole("menu")).toBeVisible();
  await pressEach(async () => {
    await expect(shortcuts).toBeHidden();
    await expect(editor).toBeHidden();
    await expect(page.getByRole("menu")).toBeVisible();
  });
  await page.keyboard.press("Escape");

  await page.getByRole("button", { name: "Set domain" }).click();
  const picker = page.getByRole("dialog", { name: "Select a domain" });
  await expect(picker.getByRole("combobox")).toBeFocused();
  await pressEach(async () => {
    await expect(shortcuts).toBeHidden();
    await expect(picker.getByRole("combobox")).toBeFocused();
  });
  await expect(picker.getByRole("combobox")).toHaveValue("/?egh");
  await page.keyboard.press("Escape");

  await page.getByRole("button", { name: "Add description for column city" }).click();
  const field = page.getByRole("textbox", { name: "Description for column city" });
  await expect(field).toBeFocused();
  await pressEach(async () => {
    await expect(shortcuts).toBeHidden();
    await expect(field).toBeFocused();
  });
  await expect(field).toHaveValue("/?egh");
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  await page.keyboard.press("Escape");
  await expect(field).toBeHidden();
  await page.keyboard.press("Control+k");
  await expect(search).toBeFocused();
});

test("on the home page the question mark opens the shortcuts until the search box is used", async ({
  page,
}) => {
  await page.goto("/");
  const box = page.getByRole("combobox", { name: "Search the catalog" });
  const shortcuts = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await expect(box).toBeFocused();
  for (let attempt = 0; attempt < 2; attempt += 1) {
    await page.keyboard.press("?");
    await expectFocusInside(shortcuts);
    await page.keyboard.press("Escape");
    await expect(shortcuts).toBeHidden();
    await expect(box).toBeFocused();
    await expect(box).toHaveValue("");
  }
  // The slash focuses the box, which counts as using it.
  await page.keyboard.press("/");
  await expect(box).toHaveValue("");
  await page.keyboard.type("?/g");
  await expect(box).toHaveValue("?/g");
  await expect(shortcuts).toBeHidden();

  await page.goto("/");
  await expect(box).toBeFocused();
  await page.keyboard.type("why?");
  await expect(box).toHaveValue("why?");
  await page.goto("/");
  await box.click();
  await page.keyboard.type("?");
  await expect(box).toHaveValue("?");
  await expect(shortcuts).toBeHidden();
});

test("resolving a conflict returns the focus to the editor", async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_focus_conflict");
  await page.goto(address(urn));
  await page.getByRole("button", { name: "Edit description", exact: true }).click();
  const editor = page.getByRole("textbox", { name: "Description (Markdown)" });
  await expect(editor).toBeFocused();
  await page.keyboard.type("Mine.");
  await describe(docent, urn, "Theirs.");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("button", { name: "Keep editing" }).click();
  await expect(editor).toBeFocused();
  await page.keyboard.type(" And more.");
  await describe(docent, urn, "Theirs again.");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("button", { name: "Use theirs" }).click();
  await expect(page.getByRole("button", { name: "Edit description", exact: true })).toBeFocused();
});

test("resolving a failed or conflicting column save returns the focus to its button", async ({
  page,
  docent,
}) => {
  const urn = await createDataset(docent, "story_focus_decided");
  await page.goto(address(urn));
  const button = (name: string) =>
    page.getByRole("button", { name: new RegExp(`description for column ${name}$`) });
  const edit = async (name: string) => {
    await button(name).click();
    await page.keyboard.type("Mine");
  };
  const row = (name: string) => page.getByRole("row", { name: new RegExp(`^${name}`) });
  await expect(button("city")).toBeVisible();
  await page.route("**/api/graphql", (route) => route.abort());
  for (const name of ["id", "name"]) {
    await edit(name);
    await page.keyboard.press("Control+Enter");
    await expect(row(name).getByRole("alert")).toBeVisible();
  }
  await page.unroute("**/api/graphql");
  await row("id").getByRole("button", { name: "Try again" }).click();
  await expect(button("id")).toBeFocused();
  await row("name").getByRole("button", { name: "Discard" }).click();
  await expect(button("name")).toBeFocused();
  await edit("city");
  await describe(docent, urn, "Theirs", "city");
  await page.keyboard.press("Control+Enter");
  await row("city").getByRole("button", { name: "Use theirs" }).click();
  await expect(button("city")).toBeFocused();
});

test("removing a filter moves the focus to the next one", async ({ page }) => {
  await page.goto("/search?filter__entityType=DATASET&filter_origin=PROD");
  const chips = page.getByRole("button", { name: /^Remove filter/ });
  await expect(chips).toHaveCount(2);
  await chips.first().focus();
  await page.keyboard.press("Enter");
  await expect(chips).toHaveCount(1);
  await expect(chips).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(chips).toHaveCount(0);
  await expect(page.getByRole("main")).toBeFocused();
});

test("a new page gets the focus and is announced, and Back returns the focus to the link", async ({
  page,
}) => {
  await page.goto("/search?query=order");
  const results = page.locator("a[data-result]");
  await expect(results.nth(2)).toBeVisible();
  await expect(page.locator("#page-announcer")).toBeEmpty();
  const name = await results.nth(2).innerText();
  await results.nth(2).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(name);
  await expect(page.getByRole("main")).toBeFocused();
  await expect(page.locator("#page-announcer")).toHaveText(name);
  await page.goBack();
  await expect(results.nth(2)).toBeFocused();
  await expect(page.locator("#page-announcer")).toHaveText("Search: order");
  await page.goForward();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(name);
  // Also when the page has to load its data again.
  await page.reload();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(name);
  await page.goBack();
  await expect(results.nth(2)).toBeFocused();
});

test("Back returns the focus to the result opened with the arrow keys", async ({ page }) => {
  await page.goto("/");
  await expect(page.getByRole("combobox", { name: "Search the catalog" })).toBeFocused();
  await page.keyboard.type("order");
  await page.keyboard.press("Enter");
  const results = page.locator("a[data-result]");
  await expect(results.nth(2)).toBeVisible();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await expect(results.nth(1)).toBeFocused();
  const name = await results.nth(1).innerText();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(name);
  await page.goBack();
  await expect(results.nth(1)).toBeFocused();
});
