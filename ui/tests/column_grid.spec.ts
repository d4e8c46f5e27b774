import { expectAccessible } from "./axe.ts";
import { address, createDataset, describe, storedColumnDescription } from "./datasets.ts";
import { WRITES, expect, test } from "./fixtures.ts";

test(
  "columns of one name are described together: fill, conflict, review, save, undo",
  WRITES,
  async ({ page, docent }) => {
    const first = await createDataset(docent, "grid_first", ["grid_key", "other"]);
    const second = await createDataset(docent, "grid_second", ["grid_key"]);
    const third = await createDataset(docent, "grid_third", ["GRID_KEY"]);
    await describe(docent, second, "known already", "grid_key");
    await page.goto(address(first));
    await page.getByRole("link", { name: "Columns named grid_key in other datasets" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Columns named grid_key");
    await expect(page.getByRole("main")).toContainText("3 columns in 3 datasets");
    const cell = (name: string) =>
      page.getByRole("textbox", { name: new RegExp(`^Description of grid_key in ${name}`, "i") });
    await expect(cell("grid_second")).toHaveValue("known already");
    const heightOf = async (name: string) => (await cell(name).boundingBox())?.height ?? 0;
    expect(await heightOf("grid_first")).toBeGreaterThanOrEqual(40);
    const find = await page.getByRole("searchbox", { name: "Column name" }).boundingBox();
    expect(find?.width).toBeGreaterThanOrEqual(320);

    await page.getByRole("checkbox", { name: "Select all" }).check();
    await page
      .getByRole("button", { name: "Use for selected: the description in grid_second" })
      .click();
    await expect(cell("grid_first")).toHaveValue("known already");
    await cell("grid_third").fill("my own text");
    await expect(page.getByRole("main")).toContainText("2 changes");
    await expectAccessible(page, "column grid");
    // What was typed survives a reload.
    page.once("dialog", (dialog) => void dialog.accept());
    await page.reload();
    await expect(cell("grid_third")).toHaveValue("my own text");
    // Somebody else describes one of them meanwhile.
    await describe(docent, third, "theirs", "GRID_KEY");
    await page.getByRole("button", { name: "Review changes" }).click();
    const dialog = page.getByRole("dialog", { name: "Review the changes" });
    await expect(dialog.getByRole("row")).toHaveCount(3);
    await dialog.getByRole("button", { name: "Save 2 changes" }).click();
    await expect(dialog).toContainText("1 changed");
    await expect(dialog).toContainText("1 left alone");
    expect(await storedColumnDescription(docent, first, "grid_key")).toBe("known already");
    expect(await storedColumnDescription(docent, third, "GRID_KEY")).toBe("theirs");
    await dialog.getByRole("button", { name: "Close", exact: true }).last().click();

    const conflict = page.getByRole("alert").filter({ hasText: "theirs" });
    await expect(conflict).toBeVisible();
    await conflict.getByRole("button", { name: "Overwrite with mine" }).click();
    await page.getByRole("button", { name: "Review changes" }).click();
    await dialog.getByRole("button", { name: "Save 1 change" }).click();
    await expect(dialog).toContainText("1 changed");
    expect(await storedColumnDescription(docent, third, "GRID_KEY")).toBe("my own text");
    await dialog.getByRole("button", { name: "Undo all" }).click();
    await expect(dialog.getByRole("button", { name: "Redo all" })).toBeVisible();
    expect(await storedColumnDescription(docent, third, "GRID_KEY")).toBe("theirs");
  },
);

test("a name that no column has is said so, and the grid fits a phone", async ({ page }) => {
  await page.goto("/bulk/columns");
  await page.getByRole("searchbox", { name: "Column name" }).fill("no_such_column");
  await page.getByRole("button", { name: "Find" }).click();
  await expect(page.getByText("No dataset has a column named “no_such_column”.")).toBeVisible();
  await page.setViewportSize({ width: 360, height: 740 });
  await page.goto("/bulk/columns?name=customer_id");
  await expect(page.getByRole("textbox").first()).toBeVisible();
  await expectAccessible(page, "column grid on a phone");
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(width).toBeLessThanOrEqual(360);
});
