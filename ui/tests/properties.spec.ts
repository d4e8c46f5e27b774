// The definitions of structured properties, which administrators manage in the settings.

import { newUser } from "./accounts.ts";
import { expectAccessible } from "./axe.ts";
import { address, createDataset } from "./datasets.ts";
import { WRITES, expect, test } from "./fixtures.ts";

test("structured properties are listed with what they allow", async ({ page }) => {
  await page.goto("/settings/properties");
  await expect(page.getByRole("heading", { level: 2 })).toHaveText("Structured properties");
  const row = (name: string) => page.getByRole("row").filter({ hasText: name });
  await expect(row("Classification")).toContainText("lanternfold.classification");
  await expect(row("Classification")).toContainText("Confidential");
  await expect(row("Classification")).toContainText("Datasets, Dashboards, Containers");
  await expect(row("Retention in days")).toContainText("Number");
  await expect(row("Escalation")).toContainText("Entity, several");
  await page.getByLabel("Find properties").fill("escal");
  await expect(row("Classification")).toHaveCount(0);
  await expect(row("Escalation")).toBeVisible();
  await page.getByLabel("Find properties").fill("xyzzyplugh");
  await expect(page.getByText("No properties match “xyzzyplugh”")).toBeVisible();
});

test(
  "a property is created, extended, and deleted with its values",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_property_definitions");
    await page.goto("/settings/properties");
    await page.getByRole("button", { name: "New property" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Create" }).click();
    await expect(dialog.getByText("Enter a name.")).toBeVisible();
    await dialog.getByLabel("Name", { exact: true }).fill("Backup class");
    await dialog.getByRole("button", { name: "Create" }).click();
    await expect(dialog.getByText("Choose at least one kind of assets.")).toBeVisible();
    await dialog.getByLabel("Qualified name").fill("story.backup");
    await dialog.getByLabel("Description").fill("How the data can be restored.");
    for (const [position, value] of ["Daily", "Never"].entries()) {
      await dialog.getByRole("button", { name: "Add value" }).click();
      await dialog.getByLabel(`Allowed value ${position + 1}`, { exact: true }).fill(value);
    }
    await dialog.getByLabel("Meaning of allowed value 1").fill("Kept for a month");
    await dialog.getByLabel("Datasets").check();
    await expectAccessible(page, "new property");
    await dialog.getByRole("button", { name: "Create" }).click();
    await expect(dialog).toBeHidden();
    await expect(page.getByRole("status")).toContainText(["Backup class is created."]);
    const row = page.getByRole("row").filter({ hasText: "Backup class" });
    await expect(row).toContainText("Daily, Never");
    await expect(row).toContainText("story.backup");

    // It can allow more, but not less.
    await page.getByRole("button", { name: "Edit Backup class" }).click();
    await expect(dialog.getByLabel("Datasets")).toBeDisabled();
    await dialog.getByLabel("Charts").check();
    await dialog.getByRole("button", { name: "Add value" }).click();
    await dialog.getByLabel("Allowed value 3", { exact: true }).fill("Weekly");
    await dialog.getByLabel("Allow several values").check();
    await expectAccessible(page, "editing a property");
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(row).toContainText("Daily, Never, Weekly");
    await expect(row).toContainText("Text, several");
    await expect(row).toContainText("Charts");

    await page.goto(`${address(urn)}/Properties`);
    await page.getByRole("button", { name: "Set Backup class" }).click();
    await expect(dialog.getByText("Kept for a month")).toBeVisible();
    await dialog.getByLabel("Weekly").check();
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(dialog).toBeHidden();

    await page.goto("/settings/properties");
    await page.getByRole("button", { name: "Delete Backup class" }).click();
    await expect(dialog).toContainText("1 asset has values, and loses them:");
    await expect(dialog.getByRole("listitem")).toHaveText("Datasets: 1");
    await expectAccessible(page, "deleting a property");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(row).toHaveCount(0);
    await expect(page.getByRole("status")).toContainText(["Backup class is deleted."]);
    await page.goto(`${address(urn)}/Properties`);
    await expect(page.getByRole("row").filter({ hasText: "Classification" })).toBeVisible();
    await expect(page.getByText("Backup class")).toHaveCount(0);
  },
);

test(
  "values that are entities are found among the allowed types",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_entity_values");
    await docent.ingest("urn:li:corpGroup:zyzzyva", "corpGroupInfo", {
      displayName: "Zyzzyva guild",
      admins: [],
      members: [],
      groups: [],
    });
    await docent.graphql(
      `mutation ($input: CreateStructuredPropertyInput!) { createStructuredProperty(input: $input) { urn } }`,
      {
        input: {
          id: "story.steward",
          displayName: "Steward",
          valueType: "urn:li:dataType:datahub.urn",
          typeQualifier: { allowedTypes: ["urn:li:entityType:datahub.corpuser"] },
          entityTypes: ["urn:li:entityType:datahub.dataset"],
        },
      },
    );
    await page.goto(`${address(urn)}/Properties`);
    await page.getByRole("button", { name: "Set Steward" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(dialog.getByRole("alert")).toHaveText("Enter a value");
    await dialog.getByRole("combobox").fill("zyzzyva");
    await expect(dialog.getByText("No assets match “zyzzyva”")).toBeVisible();
    await dialog.getByRole("combobox").fill("J. Doe");
    await dialog.getByRole("option", { name: "J. Doe" }).click();
    await expect(dialog.getByRole("button", { name: /^Remove / })).toHaveCount(1);
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(dialog).toBeHidden();
    const row = page.getByRole("row").filter({ hasText: "Steward" });
    await expect(row.getByRole("link")).toHaveText("J. Doe");
  },
);

test("readers see the properties without buttons", WRITES, async ({ browser, docent }) => {
  const context = await newUser(browser, docent, "Prop", "Reader");
  const page = await context.newPage();
  await page.goto("/settings/properties");
  await expect(page.getByRole("row").filter({ hasText: "Classification" })).toBeVisible();
  await expect(page.getByRole("button", { name: /^(New|Edit|Delete)/ })).toHaveCount(0);
  await context.close();
});
