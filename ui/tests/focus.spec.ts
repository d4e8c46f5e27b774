// The keyboard stays where the person is: what takes the focus gives it back, and keys of the page do not act elsewhere.

import { address, describe, made, saved } from "./datasets.ts";
import { expect, hearsKeys, holdRequests, test } from "./docent.ts";

test("closing the editor of a description leads back to its button", async ({ page, docent }) => {
  const urn = await made(docent, "story_focus_description");
  await page.goto(address(urn));
  const edit = page.getByRole("button", { name: "Edit the description", exact: true });
  const editor = page.getByRole("textbox", { name: "Text of the description, in Markdown" });
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

  // Whoever went on meanwhile is not called back.
  await page.keyboard.press("Enter");
  await expect(editor).toBeFocused();
  await page.keyboard.type(" and more");
  const goOn = await holdRequests(page);
  await page.keyboard.press("Control+Enter");
  const search = page.getByRole("combobox", { name: "Search the catalog" });
  await search.click();
  goOn();
  await expect(edit).toBeVisible();
  await expect(search).toBeFocused();
});

test("closing the field of a column leads back to its button", async ({ page, docent }) => {
  const urn = await made(docent, "story_focus_column");
  await page.goto(address(urn));
  const add = (name: string) => page.getByRole("button", { name: `Add a description of the column ${name}` });
  const field = (name: string) => page.getByRole("textbox", { name: `Description of the column ${name}`, exact: true });
  await add("city").click();
  await expect(field("city")).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(add("city")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(field("city")).toBeFocused();
  await page.keyboard.type("A city");
  // It is the last one: there is nowhere to go on to.
  await page.keyboard.press("Tab");
  await expect(page.getByRole("button", { name: "Edit the description of the column city" })).toBeFocused();
  await saved(page);
  await add("id").click();
  await page.keyboard.type("A number");
  await page.keyboard.press("Control+Enter");
  await expect(page.getByRole("button", { name: "Edit the description of the column id" })).toBeFocused();
});

test("dialogs give the focus back to what opened them, also out of a menu", async ({ page }) => {
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
  await hearsKeys(page.getByRole("dialog", { name: "Keys" }));
  await page.keyboard.press("Escape");
  await expect(actions).toBeFocused();
});

test("a domain that was made has the focus, wherever it is, and after one that is deleted the next has it", async ({
  page,
  docent,
}) => {
  const make = (id: string, name: string, parent: string) =>
    docent.ask(
      `mutation { createDomain(input: { id: "${id}", name: "${name}"${parent === "" ? "" : `, parentDomain: "urn:li:domain:${parent}"`} }) }`,
    );
  await make("focus-outer", "Focus outer", "");
  await make("focus-first", "Focus first", "focus-outer");
  await make("focus-second", "Focus second", "focus-outer");
  await page.goto("/domains");
  await page.getByRole("button", { name: "Hide what is inside Focus outer" }).click();
  await page.getByRole("button", { name: "Actions for Focus outer" }).click();
  await page.getByRole("menuitem", { name: "New domain inside" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("focus First");
  await expect(dialog.getByRole("status")).toContainText("There is a “Focus first” in the same place already.");
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

test("the choice of a domain begins at the one that is chosen", async ({ page, docent }) => {
  const urn = await made(docent, "story_picker_current");
  await docent.ask(`mutation { setDomain(entityUrn: "${urn}", domainUrn: "urn:li:domain:sales") }`);
  await page.goto(address(urn));
  const edit = page.getByRole("button", { name: "Edit the domain" });
  await edit.focus();
  await page.keyboard.press("Enter");
  const current = page.getByRole("option", { name: /Sales/ });
  await expect(current).toHaveAttribute("aria-selected", "true");
  await expect(current).toBeInViewport();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toBeHidden();
  await expect(page.getByRole("link", { name: "Sales", exact: true })).toBeVisible();
});

test("what opened a dialog and is gone leaves the focus in the content", async ({ page }) => {
  await page.goto("/settings/tokens");
  await page.getByRole("button", { name: "New token" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("for the focus");
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByRole("button", { name: "Done" }).click();
  await expect(page.getByRole("button", { name: "New token" })).toBeFocused();
  await page.getByRole("button", { name: "Revoke the token for the focus" }).click();
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await expect(dialog).toBeHidden();
  await expect(page.getByRole("row", { name: /for the focus/ })).toBeHidden();
  const isInContent = () =>
    page.evaluate(() => document.getElementById("content")?.contains(document.activeElement) === true);
  await expect.poll(isInContent).toBe(true);
});

test("keys of the page do not act in menus, dialogs and text fields", async ({ page, docent }) => {
  const urn = await made(docent, "story_keys");
  await page.goto(address(urn));
  // Behind a dialog it has no role.
  const search = page.locator("header input[type=search]");
  const keys = page.getByRole("dialog", { name: "Keys" });
  const editor = page.getByRole("textbox", { name: "Text of the description, in Markdown" });
  const inEach = async (check: () => Promise<void>) => {
    for (const key of ["/", "?", "Control+k", "e", "g", "h"]) {
      await page.keyboard.press(key);
      await expect(search).not.toBeFocused();
      await check();
    }
  };

  await page.getByRole("button", { name: /Account of/ }).click();
  await expect(page.getByRole("menu")).toBeVisible();
  await inEach(async () => {
    await expect(keys).toBeHidden();
    await expect(editor).toBeHidden();
    await expect(page.getByRole("menu")).toBeVisible();
  });
  await page.keyboard.press("Escape");

  await page.getByRole("button", { name: "Set a domain" }).click();
  const picker = page.getByRole("dialog", { name: "Choose a domain" });
  await expect(picker.getByRole("combobox")).toBeFocused();
  await inEach(async () => {
    await expect(keys).toBeHidden();
    await expect(picker.getByRole("combobox")).toBeFocused();
  });
  await expect(picker.getByRole("combobox")).toHaveValue("/?egh");
  await page.keyboard.press("Escape");

  await page.getByRole("button", { name: "Add a description of the column city" }).click();
  const field = page.getByRole("textbox", { name: "Description of the column city" });
  await expect(field).toBeFocused();
  await inEach(async () => {
    await expect(keys).toBeHidden();
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

test("on the home page the question mark shows the keys as long as nobody has used the search box", async ({
  page,
}) => {
  await page.goto("/");
  const box = page.getByRole("combobox", { name: "Search the catalog" });
  const keys = page.getByRole("dialog", { name: "Keys" });
  await expect(box).toBeFocused();
  for (let time = 0; time < 2; time += 1) {
    await page.keyboard.press("?");
    await hearsKeys(keys);
    await page.keyboard.press("Escape");
    await expect(keys).toBeHidden();
    await expect(box).toBeFocused();
    await expect(box).toHaveValue("");
  }
  // The slash leads to where one is already; from then on it is somebody who types.
  await page.keyboard.press("/");
  await expect(box).toHaveValue("");
  await page.keyboard.type("?/g");
  await expect(box).toHaveValue("?/g");
  await expect(keys).toBeHidden();

  await page.goto("/");
  await expect(box).toBeFocused();
  await page.keyboard.type("why?");
  await expect(box).toHaveValue("why?");
  await page.goto("/");
  await box.click();
  await page.keyboard.type("?");
  await expect(box).toHaveValue("?");
  await expect(keys).toBeHidden();
});

test("deciding about a conflict leads back to the text", async ({ page, docent }) => {
  const urn = await made(docent, "story_focus_conflict");
  await page.goto(address(urn));
  await page.getByRole("button", { name: "Edit the description", exact: true }).click();
  const editor = page.getByRole("textbox", { name: "Text of the description, in Markdown" });
  await expect(editor).toBeFocused();
  await page.keyboard.type("Mine.");
  await describe(docent, urn, "Theirs.");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("button", { name: "Go on editing mine" }).click();
  await expect(editor).toBeFocused();
  await page.keyboard.type(" And more.");
  await describe(docent, urn, "Theirs again.");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("button", { name: "Take theirs" }).click();
  await expect(page.getByRole("button", { name: "Edit the description", exact: true })).toBeFocused();
});

test("deciding about a column's text leads back to its button", async ({ page, docent }) => {
  const urn = await made(docent, "story_focus_decided");
  await page.goto(address(urn));
  const button = (name: string) => page.getByRole("button", { name: new RegExp(`description of the column ${name}$`) });
  const begin = async (name: string) => {
    await button(name).click();
    await page.keyboard.type("Mine");
  };
  const row = (name: string) => page.getByRole("row", { name: new RegExp(`^${name}`) });
  await expect(button("city")).toBeVisible();
  await page.route("**/api/graphql", (route) => route.abort());
  for (const name of ["id", "name"]) {
    await begin(name);
    await page.keyboard.press("Control+Enter");
    await expect(row(name).getByRole("alert")).toBeVisible();
  }
  await page.unroute("**/api/graphql");
  await row("id").getByRole("button", { name: "Try again" }).click();
  await expect(button("id")).toBeFocused();
  await row("name").getByRole("button", { name: "Throw it away" }).click();
  await expect(button("name")).toBeFocused();
  await begin("city");
  await describe(docent, urn, "Theirs", "city");
  await page.keyboard.press("Control+Enter");
  await row("city").getByRole("button", { name: "Take theirs" }).click();
  await expect(button("city")).toBeFocused();
});

test("taking filters back leads from one to the next", async ({ page }) => {
  await page.goto("/search?filter__entityType=DATASET&filter_origin=PROD");
  const chips = page.getByRole("button", { name: /^Remove the filter/ });
  await expect(chips).toHaveCount(2);
  await chips.first().focus();
  await page.keyboard.press("Enter");
  await expect(chips).toHaveCount(1);
  await expect(chips).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(chips).toHaveCount(0);
  await expect(page.getByRole("main")).toBeFocused();
});

test("another page has the focus at its top and is announced, and going back leads to the link", async ({ page }) => {
  await page.goto("/search?query=order");
  const results = page.locator("a[data-result]");
  await expect(results.nth(2)).toBeVisible();
  await expect(page.locator("#arrival")).toBeEmpty();
  const name = await results.nth(2).innerText();
  await results.nth(2).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(name);
  await expect(page.getByRole("main")).toBeFocused();
  await expect(page.locator("#arrival")).toHaveText(name);
  await page.goBack();
  await expect(results.nth(2)).toBeFocused();
  await expect(page.locator("#arrival")).toHaveText("Search: order");
  await page.goForward();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(name);
  // Also when what is there has to be fetched again.
  await page.reload();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(name);
  await page.goBack();
  await expect(results.nth(2)).toBeFocused();
});

test("whoever goes through results by the arrows comes back to the one they opened", async ({ page }) => {
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
