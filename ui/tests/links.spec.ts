// The links of a dataset: what somebody is writing about one stays theirs, whatever others do to the list meanwhile.

import type { Page } from "@playwright/test";

import { address, made } from "./datasets.ts";
import { WRITES, expect, hearsKeys, test } from "./docent.ts";
import type { Docent } from "./docent.ts";

const QUESTION = "The text is not saved. Throw it away?";

const linksOf = (page: Page) => page.getByRole("region", { name: "Links" });

/** Writes the list of links behind the back of the person at the page. */
const listed = (docent: Docent, urn: string, ...labels: readonly string[]) =>
  docent.ingest(urn, "institutionalMemory", {
    elements: labels.map((label) => ({
      url: `https://example.org/${label.toLowerCase()}`,
      description: label,
      createStamp: { time: 1, actor: "urn:li:corpuser:datahub" },
    })),
  });

/** A dataset with links, on a page whose time can be moved on: what was read is old then. */
async function opened(page: Page, docent: Docent, name: string, ...labels: readonly string[]): Promise<string> {
  const urn = await made(docent, name);
  await listed(docent, urn, ...labels);
  await page.clock.install();
  await page.goto(address(urn));
  await expect(linksOf(page).getByRole("link")).toHaveText([...labels]);
  return urn;
}

async function readAgain(page: Page): Promise<void> {
  await page.clock.fastForward(60_000);
  await page.evaluate(() => window.dispatchEvent(new Event("visibilitychange")));
}

test(
  "a link that is being edited stays in its form when somebody else changes the list",
  WRITES,
  async ({ page, docent }) => {
    const urn = await opened(page, docent, "story_links_shift", "First", "Second", "Third");
    const links = linksOf(page);
    await links.getByRole("button", { name: "Edit the link Second" }).click();
    await links.getByLabel("Label").fill("Half a label");
    await listed(docent, urn, "Second", "Third");
    await readAgain(page);
    await expect(links.getByRole("link")).toHaveText(["Third"]);
    await expect(links.getByLabel("Label")).toHaveValue("Half a label");
    await expect(links.getByLabel("Label")).toBeFocused();
    await links.getByRole("button", { name: "Save" }).click();
    await expect(links.getByRole("link")).toHaveText(["Half a label", "Third"]);
    await expect(links.getByRole("button", { name: "Add a link" })).toBeVisible();
  },
);

test(
  "a link that somebody else removes while it is edited leaves its form, and saving adds it",
  WRITES,
  async ({ page, docent }) => {
    const urn = await opened(page, docent, "story_links_gone", "First", "Second");
    const links = linksOf(page);
    await links.getByRole("button", { name: "Edit the link First" }).click();
    await links.getByLabel("Label").fill("Mine");
    await listed(docent, urn, "Second");
    await readAgain(page);
    await expect(links.getByText(/Somebody else changed or removed this link meanwhile/)).toBeVisible();
    await expect(links.getByLabel("Label")).toHaveValue("Mine");
    await expect(links.getByLabel("Label")).toBeFocused();
    await links.getByRole("button", { name: "Save" }).click();
    await expect(links.getByRole("link")).toHaveText(["Second", "Mine"]);
  },
);

test("what was typed about a link is not thrown away without a question", async ({ page, docent }) => {
  await opened(page, docent, "story_links_question", "First", "Second");
  const links = linksOf(page);
  await links.getByRole("button", { name: "Edit the link First" }).click();
  await links.getByLabel("Label").fill("Half a label");
  const asked: string[] = [];
  page.on("dialog", (dialog) => {
    asked.push(dialog.message());
    void (asked.length < 5 ? dialog.dismiss() : dialog.accept());
  });
  for (const lose of [
    () => page.keyboard.press("Escape"),
    () => links.getByRole("button", { name: "Cancel" }).click(),
    () => links.getByRole("button", { name: "Edit the link Second" }).click(),
    () => links.getByRole("button", { name: "Remove the link Second" }).click(),
  ]) {
    await links.getByLabel("Label").focus();
    await lose();
    await expect(links.getByLabel("Label")).toHaveValue("Half a label");
  }
  expect(asked).toEqual([QUESTION, QUESTION, QUESTION, QUESTION]);
  await expect(links.getByRole("link")).toHaveText(["Second"]);
  await links.getByLabel("Label").press("Escape");
  await expect(links.getByRole("link")).toHaveText(["First", "Second"]);
  expect(asked).toHaveLength(5);
  // Nothing typed, nothing asked.
  await links.getByRole("button", { name: "Edit the link First" }).click();
  await hearsKeys(links, "input");
  await page.keyboard.press("Escape");
  await expect(links.getByRole("link")).toHaveText(["First", "Second"]);
  expect(asked).toHaveLength(5);
});

test("the keyboard stays with the links when a form or a button of theirs disappears", async ({ page, docent }) => {
  await opened(page, docent, "story_links_focus", "First", "Second");
  const links = linksOf(page);
  const add = links.getByRole("button", { name: "Add a link" });
  const edit = (label: string) => links.getByRole("button", { name: `Edit the link ${label}` });
  await add.click();
  await hearsKeys(links, "input");
  await page.keyboard.press("Escape");
  await expect(add).toBeFocused();
  await edit("First").click();
  await hearsKeys(links, "input");
  await page.keyboard.press("Escape");
  await expect(edit("First")).toBeFocused();
  await page.keyboard.press("Enter");
  await links.getByRole("button", { name: "Cancel" }).click();
  await expect(edit("First")).toBeFocused();
  await page.keyboard.press("Enter");
  await links.getByLabel("Label").fill("One");
  await page.keyboard.press("Enter");
  await expect(edit("One")).toBeFocused();
  await page.keyboard.press("Enter");
  await links.getByLabel("Label").fill("First again");
  await links.getByRole("button", { name: "Save" }).click();
  await expect(edit("First again")).toBeFocused();
  await links.getByRole("button", { name: "Remove the link Second" }).click();
  await expect(links.getByRole("button", { name: "Undo" })).toBeVisible();
  await expect(add).toBeFocused();
  await links.getByRole("button", { name: "Undo" }).click();
  await expect(edit("Second")).toBeVisible();
  await expect(add).toBeFocused();
});
