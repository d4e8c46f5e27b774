import type { Page } from "@playwright/test";

import { newUser } from "./accounts.ts";
import { expectAccessible } from "./axe.ts";
import { address, createDataset } from "./datasets.ts";
import { WRITES, datasetUrn, expect, test, type Docent } from "./fixtures.ts";

/** Opens the picker of a section and picks the best match. */
async function pick(page: Page, add: string, query: string, expected: string) {
  await page.getByRole("button", { name: add, exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("combobox", { name: /^Search/ }).fill(query);
  const first = dialog.getByRole("option").first();
  await expect(first).toContainText(expected);
  await expect(first).toHaveAttribute("aria-selected", "true");
  await expectAccessible(page, "dialog");
  await page.keyboard.press("Enter");
  await expect(dialog).toBeHidden();
}

/** The URNs that are stored about a dataset. */
async function labelsOf(docent: Docent, urn: string) {
  const { dataset } = await docent.graphql<{
    dataset: {
      tags: { tags: { tag: { urn: string } }[] } | null;
      glossaryTerms: { terms: { term: { urn: string } }[] } | null;
      ownership: { owners: { owner: { urn: string }; ownershipType: { urn: string } }[] } | null;
    };
  }>(
    `query ($urn: String!) { dataset(urn: $urn) {
      tags { tags { tag { urn } } }
      glossaryTerms { terms { term { urn } } }
      ownership { owners { owner { ... on CorpUser { urn } ... on CorpGroup { urn } } ownershipType { urn } } }
    } }`,
    { urn },
  );
  return {
    tags: (dataset.tags?.tags ?? []).map(({ tag }) => tag.urn),
    terms: (dataset.glossaryTerms?.terms ?? []).map(({ term }) => term.urn),
    owners: (dataset.ownership?.owners ?? []).map(
      ({ owner, ownershipType }) => `${owner.urn} ${ownershipType.urn}`,
    ),
  };
}

test("tags and terms are added, removed and restored", WRITES, async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_labels");
  await page.goto(address(urn));
  const tags = page.getByRole("region", { name: "Tags" });
  await expect(tags).toContainText("No tags yet");
  await pick(page, "Add tag", "certified", "Certified");
  await expect(tags.getByRole("listitem")).toHaveText([/^Certified/]);
  await expect(tags.getByRole("status")).toContainText("Tag “Certified” added.");
  expect((await labelsOf(docent, urn)).tags).toEqual(["urn:li:tag:certified"]);

  // What is there already cannot be picked again.
  await page.getByRole("button", { name: "Add tag", exact: true }).click();
  await page.getByRole("dialog").getByRole("combobox").fill("certified");
  const chosen = page.getByRole("option", { name: "Certified" });
  await expect(chosen).toContainText("Added");
  await expect(chosen).toHaveAttribute("aria-disabled", "true");
  await page.keyboard.press("Escape");

  await tags.getByRole("button", { name: "Remove tag Certified" }).click();
  await expect(tags).toContainText("Tag “Certified” removed.");
  await expect.poll(async () => (await labelsOf(docent, urn)).tags).toEqual([]);
  await tags.getByRole("button", { name: "Undo" }).click();
  await expect(tags.getByRole("link", { name: "Certified" })).toBeVisible();
  expect((await labelsOf(docent, urn)).tags).toEqual(["urn:li:tag:certified"]);

  const terms = page.getByRole("region", { name: "Glossary terms" });
  await pick(page, "Add glossary term", "isbn", "ISBN");
  expect((await labelsOf(docent, urn)).terms).toEqual(["urn:li:glossaryTerm:isbn"]);
  // Its definition is shown on hover and on focus.
  const definition = () =>
    terms
      .getByRole("listitem")
      .locator(".definition")
      .evaluate((element) => getComputedStyle(element, "::after").content);
  expect(await definition()).toBe("none");
  await terms.getByRole("link", { name: "ISBN" }).focus();
  expect(await definition()).toMatch(/^"\w+/);
});

test("an owner is added with the kind of ownership", WRITES, async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_owners");
  await page.goto(address(urn));
  const owners = page.getByRole("region", { name: "Owners" });
  await page.getByRole("button", { name: "Add owner", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Kind of ownership").selectOption("Data Steward");
  await dialog.getByRole("combobox", { name: /^Search/ }).fill("finance team");
  await expect(dialog.getByRole("listbox").getByRole("option").first()).toHaveText(
    "Finance TeamGroup",
  );
  await dialog.getByRole("listbox").getByRole("option").first().click();
  await expect(owners.getByRole("listitem")).toHaveText([/Finance Team\s*Data Steward/]);
  const stored = (await labelsOf(docent, urn)).owners;
  expect(stored).toEqual([
    expect.stringMatching(/^urn:li:corpGroup:\S+ urn:li:ownershipType:__system__data_steward$/),
  ]);
  await owners.getByRole("button", { name: "Remove owner Finance Team" }).click();
  await expect(owners).toContainText("No owners yet");
  await owners.getByRole("button", { name: "Undo" }).click();
  await expect(owners.getByRole("link", { name: "Finance Team" })).toBeVisible();
  expect((await labelsOf(docent, urn)).owners).toEqual(stored);
});

test(
  "groups of the same name are told apart by their ids where an owner is picked",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_rail_same_groups");
    for (const id of ["twins-east", "twins-west"])
      await docent.ingest(`urn:li:corpGroup:${id}`, "corpGroupInfo", {
        displayName: "The Twins",
        admins: [],
        members: [],
        groups: [],
      });
    await page.goto(address(urn));
    await page.getByRole("button", { name: "Add owner" }).click();
    const dialog = page.getByRole("dialog", { name: "Add an owner" });
    await dialog.getByRole("combobox", { name: "Search users and groups" }).fill("The Twins");
    await expect(dialog.getByRole("option", { name: "The Twins" })).toHaveCount(2);
    await dialog.getByRole("option", { name: /twins-west/ }).click();
    await expect
      .poll(async () => (await labelsOf(docent, urn)).owners)
      .toEqual([expect.stringContaining("urn:li:corpGroup:twins-west ")]);
  },
);

test("“Copy link” copies the address of the page", async ({ page, context, docent }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(`/dataset/${datasetUrn("postgres", "shop.public.orders")}?show=history`);
  await page.getByRole("link", { name: "Columns" }).first().click();
  await page.getByRole("button", { name: "Copy link" }).click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(new URL(copied).origin).toBe(docent.address);
  await page.goto(copied);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("orders");
  await expect(page).not.toHaveURL(/show=/);
});

test("a reader sees no buttons that only fail", WRITES, async ({ browser, docent }) => {
  const urn = await createDataset(docent, "story_rail_reader");
  const context = await newUser(browser, docent, "Rita", "Reader");
  const page = await context.newPage();
  await page.goto(address(urn));
  const rail = page.getByRole("complementary", { name: "About this dataset" });
  await expect(rail).toContainText("No owners yet");
  await expect(rail.getByRole("button")).toHaveText(["Copy", "Copy link"]);
  await context.close();
});

test(
  "structured properties and those of the source are shown",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_properties");
    await docent.graphql(
      `mutation ($input: CreateStructuredPropertyInput!) { createStructuredProperty(input: $input) { urn } }`,
      {
        input: {
          id: "story.retention",
          qualifiedName: "story.retention",
          displayName: "Retention (days)",
          valueType: "urn:li:dataType:datahub.number",
          entityTypes: ["urn:li:entityType:datahub.dataset"],
        },
      },
    );
    await docent.graphql(
      `mutation ($input: UpsertStructuredPropertiesInput!) { upsertStructuredProperties(input: $input) { properties { associatedUrn } } }`,
      {
        input: {
          assetUrn: urn,
          structuredPropertyInputParams: [
            {
              structuredPropertyUrn: "urn:li:structuredProperty:story.retention",
              values: [{ numberValue: 1095 }],
            },
          ],
        },
      },
    );
    await docent.ingest(urn, "datasetProperties", { customProperties: { team: "Finance" } });
    await page.goto(address(urn));
    const properties = page.getByRole("region", { name: "Properties" });
    await expect(properties).toContainText("Retention (days)");
    await expect(properties).toContainText("1,095");
    await expect(properties).toContainText("team");
    await expect(properties).toContainText("Finance");
  },
);

test("a tag that does not exist is created where it is added", WRITES, async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_new_tag");
  await page.goto(address(urn));
  const tags = page.getByRole("region", { name: "Tags", exact: true });
  await tags.getByRole("button", { name: "Add tag" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a tag" });
  const search = dialog.getByRole("combobox", { name: "Search tags" });
  await search.fill("pii");
  await expect(dialog.getByRole("option").first()).toContainText("PII");
  await expect(dialog.getByRole("button", { name: /^Create tag/ })).toHaveCount(0);
  await search.fill("Story fresh");
  await dialog.getByRole("button", { name: "Create tag “Story fresh”" }).click();
  await expect(tags.getByRole("link", { name: "Story fresh" })).toBeVisible();
  await expect(dialog).toBeHidden();

  // A second one of the same name is not created.
  await page.goto("/tags");
  await page.getByRole("button", { name: "New tag" }).click();
  const creation = page.getByRole("dialog");
  await creation.getByLabel("Name").fill("story FRESH");
  await creation.getByRole("button", { name: "Create" }).click();
  await expect(creation.getByRole("alert")).toContainText(
    "There is a tag named “story FRESH” already.",
  );
});

test("columns stay readable beside the rail of a narrow window", async ({ page }) => {
  await page.setViewportSize({ width: 1024, height: 800 });
  await page.goto(address(datasetUrn("postgres", "shop.public.orders")));
  const text = page.getByRole("row").filter({ hasText: "order_id" }).locator(".column-text");
  expect((await text.first().boundingBox())?.width).toBeGreaterThan(200);
});
