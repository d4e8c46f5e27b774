import { expectAccessible } from "./axe.ts";
import { createDataset } from "./datasets.ts";
import { newUser } from "./accounts.ts";
import { WRITES, expect, test } from "./fixtures.ts";

test(
  "a steward builds a glossary: groups, terms, related terms, moves and deletions",
  WRITES,
  async ({ page, docent }) => {
    test.setTimeout(120_000);
    const dialog = page.getByRole("dialog");
    const rows = page.getByRole("table", { name: "Glossary tree" }).getByRole("row");
    const menu = async (name: string, item: string) => {
      await page.getByRole("button", { name: `Actions for ${name}` }).click();
      await page.getByRole("menuitem", { name: item, exact: true }).click();
    };
    await page.goto("/glossary");
    await expect(rows.filter({ hasText: "Commerce" })).toBeVisible();
    await page.getByRole("button", { name: "New term group" }).click();
    await dialog.getByRole("button", { name: "Create" }).click();
    await expect(dialog.getByRole("alert")).toHaveText("Enter a name.");
    await dialog.getByLabel("Name").fill("Story Logistics");
    await page.keyboard.press("Enter");
    // The new entry has the focus.
    await expect(page.getByRole("link", { name: "Story Logistics" })).toBeFocused();
    await menu("Story Logistics", "New term");
    await expect(dialog).toContainText("New term in Story Logistics");
    await dialog.getByLabel("Name").fill("Story Parcel");
    await dialog.getByLabel(/^Description/).fill("Something that is sent.");
    await expectAccessible(page, "new term");
    await dialog.getByRole("button", { name: "Create" }).click();
    await expect(page.getByRole("link", { name: "Story Parcel" })).toBeFocused();

    // What carries it counts, also through a column.
    const urn = await createDataset(docent, "story_parcels");
    const column = await createDataset(docent, "story_parcel_columns");
    const { searchAcrossEntities } = await docent.graphql<{
      searchAcrossEntities: { searchResults: Array<{ entity: { urn: string } }> };
    }>(
      `{ searchAcrossEntities(input: {types: [GLOSSARY_TERM], query: "\\"Story Parcel\\""}) { searchResults { entity { urn } } } }`,
    );
    const term = searchAcrossEntities.searchResults[0]?.entity.urn ?? "";
    const ADD_TERM = `mutation ($input: TermAssociationInput!) { addTerm(input: $input) }`;
    await docent.graphql(ADD_TERM, { input: { termUrn: term, resourceUrn: urn } });
    await docent.graphql(ADD_TERM, {
      input: {
        termUrn: term,
        resourceUrn: column,
        subResourceType: "DATASET_FIELD",
        subResource: "city",
      },
    });
    await page.reload();
    await expect(
      rows.filter({ has: page.getByRole("link", { name: "Story Parcel" }) }).locator("td.number"),
    ).toHaveText(["1", "1"]);
    await page.getByRole("link", { name: "Story Parcel" }).click();
    const members = page.getByRole("region", { name: "What has this term" });
    await expect(members.getByRole("article")).toHaveCount(2);
    await expect(members).toContainText("story_parcel_columns");

    // Related terms, from both sides.
    const related = page.getByRole("region", { name: "Related terms" });
    await related.getByRole("button", { name: "Add related term" }).click();
    await dialog.getByLabel("Kind of relation").selectOption("Contains (has a)");
    await dialog.getByRole("combobox", { name: "Search glossary terms" }).fill("postal");
    await dialog.getByRole("option", { name: /^Postal Address/ }).click();
    await expect(related).toContainText("Contains");
    await related.getByRole("button", { name: "Remove related term Postal Address" }).click();
    await expect(related).toContainText("No related terms yet");
    await related.getByRole("button", { name: "Undo" }).click();
    await related.getByRole("link", { name: "Postal Address" }).click();
    await expect(related).toContainText("Part of");
    await related.getByRole("link", { name: "Story Parcel" }).click();

    // Rename and move on its page.
    await menu("Story Parcel", "Rename…");
    await expect(dialog).toContainText("The new name also appears on 1 entity.");
    await dialog.getByLabel("Name").fill("Story Package");
    await dialog.getByRole("button", { name: "Rename" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Story Package");
    await menu("Story Package", "Move…");
    await dialog.getByRole("combobox").fill("commerce");
    await page.keyboard.press("Enter");
    await dialog.getByRole("button", { name: "Move" }).click();
    await expect(page.locator("header .breadcrumb")).toHaveText("Commerce");

    // A deletion says how many entities lose the term.
    await menu("Story Package", "Delete…");
    await expect(dialog).toContainText("It will be removed from 2 entities.");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(page).toHaveURL(/\/glossary$/);
    await expect(page.getByRole("link", { name: "Story Package" })).toHaveCount(0);
    await menu("Story Logistics", "Delete…");
    await expect(dialog).toContainText("This group is empty.");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(page.getByRole("link", { name: "Story Logistics" })).toHaveCount(0);
  },
);

test(
  "a reader browses the glossary and tags by keyboard, without buttons that only fail",
  WRITES,
  async ({ browser, docent }) => {
    const reader = await newUser(browser, docent, "Rhea", "Reader");
    const page = await reader.newPage();
    await page.goto("/glossary");
    // What the words mean, without opening each.
    await expect(page.getByRole("row", { name: /^ISBN/ })).toContainText(
      "The thirteen-digit International Standard Book Number",
    );
    const collapse = page.getByRole("button", { name: "Collapse Money" });
    await collapse.focus();
    await page.keyboard.press("Enter");
    await expect(page.getByRole("link", { name: "Net Revenue" })).toHaveCount(0);
    await page.keyboard.press("Enter");
    await expect(page.getByRole("link", { name: "Net Revenue" })).toBeVisible();
    await page.getByLabel("Filter the glossary").fill("isbn");
    await expect(page.getByRole("link", { name: "Net Revenue" })).toHaveCount(0);
    await expect(page.getByRole("link", { name: "ISBN" })).toBeVisible();
    await expect(page.getByRole("button", { name: /^(New term|Actions for)/ })).toHaveCount(0);
    await page.goto("/tags?query=pii");
    await expect(page.getByRole("row", { name: /^PII/ })).toBeVisible();
    await expect(page.getByRole("button", { name: "New tag" })).toHaveCount(0);
    await page.goto("/tag/urn:li:tag:pii");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("PII");
    await page.waitForLoadState("networkidle");
    await expect(page.getByRole("button", { name: /^(Actions for|Edit description)/ })).toHaveCount(
      0,
    );
    await reader.close();
  },
);
