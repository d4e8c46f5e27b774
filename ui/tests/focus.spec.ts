// The keyboard stays where the person is: what takes the focus gives it back, and keys of the page do not act elsewhere.

import { address, made, saved } from "./datasets.ts";
import { expect, test } from "./docent.ts";

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
  let goOn = () => {};
  const held = new Promise<void>((resolve) => (goOn = resolve));
  await page.route("**/api/graphql", async (route) => {
    await held;
    await route.continue();
  });
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
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await expect(dialog).toBeHidden();
  await expect(actions).toBeFocused();

  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keys" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(actions).toBeFocused();
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
    await expect(keys).toBeVisible();
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
