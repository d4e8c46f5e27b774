// What the header of a dataset changes: its name, its deprecation, whether it is in the catalog.

import { address, createDataset } from "./datasets.ts";
import { expect, test, WRITES, type Docent } from "./fixtures.ts";

interface State {
  readonly dataset: {
    readonly editableProperties: { readonly name: string | null } | null;
    readonly status: { readonly removed: boolean } | null;
    readonly deprecation: {
      readonly deprecated: boolean;
      readonly note: string;
      readonly decommissionTime: number | null;
      readonly replacement: { readonly urn: string } | null;
    } | null;
  };
}

const stateOf = async (docent: Docent, urn: string) =>
  (
    await docent.graphql<State>(
      `query ($urn: String!) { dataset(urn: $urn) {
        editableProperties { name } status { removed }
        deprecation { deprecated note decommissionTime replacement { urn } }
      } }`,
      { urn },
    )
  ).dataset;

test(
  "name, deprecation and removal are edited in place, with undo",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_header");
    const successor = await createDataset(docent, "story_header_successor");
    await page.goto(address(urn));
    const header = page.locator(".entity-header");
    const choose = async (item: string) => {
      await header.getByRole("button", { name: "More actions" }).click();
      await page.getByRole("menuitem", { name: item }).click();
    };

    await choose("Rename…");
    await page.getByLabel("Display name").fill("Orders of the story");
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Orders of the story");
    await header.getByRole("button", { name: "Undo" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("story_header");

    await choose("Deprecate…");
    const dialog = page.getByRole("dialog", { name: "Deprecate dataset" });
    await dialog.getByLabel("Why").fill("Nobody keeps it up.");
    await dialog.getByLabel("Decommission date").fill("2031-05-01");
    await dialog.getByRole("button", { name: "Choose…" }).click();
    await dialog.getByRole("combobox").fill("story_header_successor");
    await dialog.getByRole("option", { name: /story_header_successor/ }).click();
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(header).toContainText("Nobody keeps it up.");
    await expect(header).toContainText("May 1, 2031");
    await expect(header.getByRole("link", { name: "story_header_successor" })).toBeVisible();
    const deprecated = {
      deprecated: true,
      note: "Nobody keeps it up.",
      decommissionTime: Date.UTC(2031, 4, 1),
      replacement: { urn: successor },
    };
    expect((await stateOf(docent, urn)).deprecation).toEqual(deprecated);
    await choose("Remove deprecation");
    await expect(header).not.toContainText("Nobody keeps it up.");
    await header.getByRole("button", { name: "Undo" }).click();
    await expect(header).toContainText("Nobody keeps it up.");
    expect((await stateOf(docent, urn)).deprecation).toEqual(deprecated);

    await choose("Remove from the catalog");
    await expect(header).toContainText("Removed from the catalog.");
    expect((await stateOf(docent, urn)).status?.removed).toBe(true);
    await header.getByRole("button", { name: "Undo" }).click();
    await expect(header).toContainText("Restored to the catalog.");
    expect((await stateOf(docent, urn)).status?.removed).toBe(false);
  },
);
