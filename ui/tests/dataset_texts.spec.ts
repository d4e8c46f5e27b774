// Long texts on a dataset page stay readable, and missing ones ask to be written.

import { address, createDataset, storedColumnDescription } from "./datasets.ts";
import { editButton, editorOf } from "./editing.ts";
import { expect, test, WRITES } from "./fixtures.ts";

const LONG_TYPE = `struct<${Array.from({ length: 20 }, (_, index) => `field_${index}:string`).join(",")}>`;
const PARAGRAPHS = Array.from({ length: 40 }, (_, index) => `Paragraph ${index}.`).join("\n\n");

test("long descriptions fold, and long types are clipped", WRITES, async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_long_texts", ["id"]);
  await docent.ingest(urn, "datasetProperties", { description: PARAGRAPHS, customProperties: {} });
  await docent.ingest(urn, "schemaMetadata", {
    schemaName: "story_long_texts",
    platform: "urn:li:dataPlatform:hive",
    version: 0,
    hash: "",
    platformSchema: { "com.linkedin.schema.OtherSchema": { rawSchema: "" } },
    fields: [
      {
        fieldPath: "nested",
        type: { type: { "com.linkedin.schema.RecordType": {} } },
        nativeDataType: LONG_TYPE,
      },
    ],
  });
  await page.goto(address(urn));
  const folded = page.locator(".folded");
  await expect(folded).toContainText("Paragraph 39.");
  const height = async () => (await folded.boundingBox())?.height ?? 0;
  // Twelve lines of 15 pixels at a line height of 1.55.
  expect(await height()).toBeLessThanOrEqual(12 * 15 * 1.55 + 1);
  await page.getByRole("button", { name: "Show all" }).click();
  await expect(folded).toHaveCount(0);
  await page.getByRole("button", { name: "Show less" }).click();
  await expect(folded).toHaveCount(1);

  // By keyboard, and an edit leaves it as it is.
  const toggle = page.getByRole("button", { name: /^Show (all|less)$/ });
  await expect(toggle).toHaveAttribute("aria-expanded", "false");
  await page.getByRole("button", { name: "Edit description" }).focus();
  await page.keyboard.press("Tab");
  await expect(toggle).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(toggle).toHaveAttribute("aria-expanded", "true");
  await editButton(page).click();
  await expect(editorOf(page)).toBeFocused();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("One more sentence. ");
  await page.keyboard.press("Control+Enter");
  // Its preview shows the text, too.
  await expect(editorOf(page)).toHaveCount(0);
  await expect(page.getByText("One more sentence.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Show less" })).toBeVisible();
  await expect(page.locator(".folded")).toHaveCount(1);

  const type = page.getByRole("button", { name: LONG_TYPE });
  const isClipped = () => type.evaluate((element) => element.scrollWidth > element.clientWidth + 1);
  expect(await isClipped()).toBe(true);
  await type.click();
  await expect(type).toHaveAttribute("aria-expanded", "true");
  expect(await isClipped()).toBe(false);
});

test("a click into an empty cell edits it", WRITES, async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_empty_cell");
  await page.goto(address(urn));
  const row = page.getByRole("row", { name: /^city/ });
  const add = row.getByRole("button", { name: "Add description for column city" });
  // Visible without hovering.
  await expect(row.locator(".column-actions")).toHaveCSS("opacity", "1");
  const cell = await row.getByRole("cell").last().boundingBox();
  const button = await add.boundingBox();
  if (cell === null || button === null) throw new Error("the row is not on the page");
  await page.mouse.click((button.x + button.width + cell.x + cell.width) / 2, button.y + 5);
  await page.keyboard.type("Where the customer lives.");
  await page.keyboard.press("Control+Enter");
  await expect(row).toContainText("Where the customer lives.");
  await expect
    .poll(() => storedColumnDescription(docent, urn, "city"))
    .toBe("Where the customer lives.");
});

test("at 200 % zoom each column becomes a paragraph", async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_zoomed");
  // Half of 1,600 pixels.
  await page.setViewportSize({ width: 800, height: 450 });
  await page.goto(address(urn));
  const row = page.getByRole("row", { name: /^city/ });
  await expect(row).toBeVisible();
  const name = await row.getByRole("rowheader").boundingBox();
  const text = await row.getByRole("cell").last().boundingBox();
  expect(text?.y ?? 0).toBeGreaterThanOrEqual((name?.y ?? 0) + (name?.height ?? 0) - 1);
  expect(text?.x).toBe(name?.x);
});
