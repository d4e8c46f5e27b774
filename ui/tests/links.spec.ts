// The links of a dataset: an edit in progress survives concurrent changes to the list.

import type { Page } from "@playwright/test";

import { answerConfirmations, CONFIRMATION } from "./editing.ts";
import { address, createDataset } from "./datasets.ts";
import { WRITES, expect, expectFocusInside, test } from "./fixtures.ts";
import type { Docent } from "./fixtures.ts";

const linksOf = (page: Page) => page.getByRole("region", { name: "Links" });

/** Replaces the list of links through the API. */
const ingestLinks = (docent: Docent, urn: string, ...labels: readonly string[]) =>
  docent.ingest(urn, "institutionalMemory", {
    elements: labels.map((label) => ({
      url: `https://example.org/${label.toLowerCase()}`,
      description: label,
      createStamp: { time: 1, actor: "urn:li:corpuser:datahub" },
    })),
  });

/** Opens a dataset with links, with a fake clock to make the data stale. */
async function openDataset(
  page: Page,
  docent: Docent,
  name: string,
  ...labels: readonly string[]
): Promise<string> {
  const urn = await createDataset(docent, name);
  await ingestLinks(docent, urn, ...labels);
  await page.clock.install();
  await page.goto(address(urn));
  await expect(linksOf(page).getByRole("link")).toHaveText([...labels]);
  return urn;
}

async function refresh(page: Page): Promise<void> {
  await page.clock.fastForward(60_000);
  await page.evaluate(() => window.dispatchEvent(new Event("visibilitychange")));
}

test(
  "the form of a link stays open when someone else changes the list",
  WRITES,
  async ({ page, docent }) => {
    const urn = await openDataset(page, docent, "story_links_shift", "First", "Second", "Third");
    const links = linksOf(page);
    await links.getByRole("button", { name: "Edit link Second" }).click();
    await links.getByLabel("Label").fill("Half a label");
    await ingestLinks(docent, urn, "Second", "Third");
    await refresh(page);
    await expect(links.getByRole("link")).toHaveText(["Third"]);
    await expect(links.getByLabel("Label")).toHaveValue("Half a label");
    await expect(links.getByLabel("Label")).toBeFocused();
    await links.getByRole("button", { name: "Save" }).click();
    await expect(links.getByRole("link")).toHaveText(["Half a label", "Third"]);
    await expect(links.getByRole("button", { name: "Add link" })).toBeVisible();
  },
);

test(
  "a link that someone else removes during an edit is added again on save",
  WRITES,
  async ({ page, docent }) => {
    const urn = await openDataset(page, docent, "story_links_gone", "First", "Second");
    const links = linksOf(page);
    await links.getByRole("button", { name: "Edit link First" }).click();
    await links.getByLabel("Label").fill("Mine");
    await ingestLinks(docent, urn, "Second");
    await refresh(page);
    await expect(links.getByText(/Someone else changed or removed this link/)).toBeVisible();
    await expect(links.getByLabel("Label")).toHaveValue("Mine");
    await expect(links.getByLabel("Label")).toBeFocused();
    await links.getByRole("button", { name: "Save" }).click();
    await expect(links.getByRole("link")).toHaveText(["Second", "Mine"]);
  },
);

test("discarding an edited link asks first", async ({ page, docent }) => {
  await openDataset(page, docent, "story_links_question", "First", "Second");
  const links = linksOf(page);
  await links.getByRole("button", { name: "Edit link First" }).click();
  await links.getByLabel("Label").fill("Half a label");
  const confirmations = answerConfirmations(page, "stay", "stay", "stay", "stay", "leave");
  for (const discard of [
    () => page.keyboard.press("Escape"),
    () => links.getByRole("button", { name: "Cancel" }).click(),
    () => links.getByRole("button", { name: "Edit link Second" }).click(),
    () => links.getByRole("button", { name: "Remove link Second" }).click(),
  ]) {
    await links.getByLabel("Label").focus();
    const asked = confirmations.length;
    await discard();
    await expect.poll(() => confirmations.length).toBe(asked + 1);
    await expect(links.getByLabel("Label")).toHaveValue("Half a label");
  }
  expect(confirmations).toEqual([CONFIRMATION, CONFIRMATION, CONFIRMATION, CONFIRMATION]);
  await expect(links.getByRole("link")).toHaveText(["Second"]);
  await links.getByLabel("Label").press("Escape");
  await expect(links.getByRole("link")).toHaveText(["First", "Second"]);
  await expect.poll(() => confirmations.length).toBe(5);
  // No confirmation without changes.
  await links.getByRole("button", { name: "Edit link First" }).click();
  await expectFocusInside(links, "input");
  await page.keyboard.press("Escape");
  await expect(links.getByRole("link")).toHaveText(["First", "Second"]);
  await expect.poll(() => confirmations.length).toBe(5);
});

test("the focus stays in the list of links when a form or button disappears", async ({
  page,
  docent,
}) => {
  await openDataset(page, docent, "story_links_focus", "First", "Second");
  const links = linksOf(page);
  const add = links.getByRole("button", { name: "Add link" });
  const edit = (label: string) => links.getByRole("button", { name: `Edit link ${label}` });
  await add.click();
  await expectFocusInside(links, "input");
  await page.keyboard.press("Escape");
  await expect(add).toBeFocused();
  await edit("First").click();
  await expectFocusInside(links, "input");
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
  await links.getByRole("button", { name: "Remove link Second" }).click();
  await expect(links.getByRole("button", { name: "Undo" })).toBeVisible();
  await expect(add).toBeFocused();
  await links.getByRole("button", { name: "Undo" }).click();
  await expect(edit("Second")).toBeVisible();
  await expect(add).toBeFocused();
});
