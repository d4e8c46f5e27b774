import { newUser } from "./accounts.ts";
import { expectAccessible } from "./axe.ts";
import { address, createDataset } from "./datasets.ts";
import { row } from "./editing.ts";
import { WRITES, expect, test } from "./fixtures.ts";

const LABELS = "Tags and glossary terms of column city";

test(
  "tags and terms of a column are added and removed, except for imported ones",
  WRITES,
  async ({ page, docent, browser }) => {
    const urn = await createDataset(docent, "story_column_labels");
    await docent.ingest(urn, "schemaMetadata", {
      schemaName: "story",
      platform: "urn:li:dataPlatform:hive",
      version: 0,
      hash: "",
      platformSchema: { "com.linkedin.schema.OtherSchema": { rawSchema: "" } },
      fields: [
        {
          fieldPath: "city",
          nativeDataType: "text",
          type: { type: { "com.linkedin.schema.StringType": {} } },
          globalTags: { tags: [{ tag: "urn:li:tag:certified" }] },
        },
      ],
    });
    await page.goto(address(urn));
    await row(page, "city").getByRole("button", { name: LABELS }).click();
    const dialog = page.getByRole("dialog", { name: "Tags and glossary terms of city" });
    const tags = dialog.getByRole("region", { name: "Tags" });
    await expect(tags.getByRole("listitem")).toHaveText([/^Certified\s*imported$/]);
    await expect(tags.getByRole("button", { name: "Remove tag Certified" })).toHaveCount(0);

    await tags.getByRole("button", { name: "Add tag" }).click();
    const picker = page.getByRole("dialog", { name: "Add a tag" });
    await picker.getByRole("combobox").fill("pii");
    await picker.getByRole("option", { name: "PII" }).first().click();
    await expect(picker).toBeHidden();
    await expect(tags.getByRole("listitem")).toHaveText([/^Certified/, /^PII/]);
    const terms = dialog.getByRole("region", { name: "Glossary terms" });
    await terms.getByRole("button", { name: "Add glossary term" }).click();
    await page
      .getByRole("dialog", { name: "Add a glossary term" })
      .getByRole("option")
      .first()
      .click();
    await expect(terms.getByRole("listitem")).toHaveCount(1);
    await expectAccessible(page, "labels of a column");
    await page.keyboard.press("Escape");
    await expect(dialog).toBeHidden();
    await expect(row(page, "city").getByRole("button", { name: LABELS })).toBeFocused();
    await expect(row(page, "city").getByRole("link", { name: "PII" })).toBeVisible();

    await row(page, "city").getByRole("button", { name: LABELS }).click();
    await tags.getByRole("button", { name: "Remove tag PII" }).click();
    await expect(tags.getByRole("listitem")).toHaveCount(1);
    await tags.getByRole("button", { name: "Undo" }).click();
    await expect(tags.getByRole("listitem")).toHaveCount(2);
    await page.reload();
    await expect(row(page, "city").getByRole("link", { name: "PII" })).toBeVisible();

    // A reader may not change them.
    const context = await newUser(browser, docent, "Clara", "Reader");
    const reader = await context.newPage();
    await reader.goto(address(urn));
    await expect(row(reader, "city").getByRole("link", { name: "PII" })).toBeVisible();
    const offered = reader.getByRole("button", { name: LABELS });
    const mayPropose = await reader.getByRole("button", { name: "Add tag" }).count();
    await expect(offered).toHaveCount(mayPropose);
    await context.close();
  },
);
