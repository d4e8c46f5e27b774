import type { Page } from "@playwright/test";

import { newUser } from "./accounts.ts";
import { expectAccessible } from "./axe.ts";
import { WRITES, datasetUrn, expect, test, type Docent } from "./fixtures.ts";

/** Creates datasets that have nothing but a name. */
async function createDatasets(docent: Docent, prefix: string, number: number): Promise<string[]> {
  const urns = Array.from({ length: number }, (_, index) =>
    datasetUrn("hive", `${prefix}_${String(index).padStart(2, "0")}`),
  );
  for (const urn of urns)
    await docent.ingest(urn, "datasetProperties", { customProperties: {}, description: "" });
  return urns;
}

interface Labels {
  readonly domain: { readonly domain: { readonly urn: string } } | null;
  readonly tags: { readonly tags: readonly { readonly tag: { readonly urn: string } }[] } | null;
}

async function labelsOf(docent: Docent, urn: string) {
  const { dataset } = await docent.graphql<{ dataset: Labels }>(
    `query ($urn: String!) { dataset(urn: $urn) { domain { domain { urn } } tags { tags { tag { urn } } } } }`,
    { urn },
  );
  return {
    domain: dataset.domain?.domain.urn ?? null,
    tags: (dataset.tags?.tags ?? []).map(({ tag }) => tag.urn),
  };
}

const setDomain = (docent: Docent, urn: string, domain: string) =>
  docent.graphql(
    `mutation ($urn: String!, $domain: String!) { setDomain(entityUrn: $urn, domainUrn: $domain) }`,
    { urn, domain },
  );
const addTag = (docent: Docent, urn: string, tag: string) =>
  docent.graphql(
    `mutation ($urn: String!, $tag: String!) { addTag(input: { resourceUrn: $urn, tagUrn: $tag }) }`,
    { urn, tag },
  );
const createTag = (docent: Docent, id: string) =>
  docent.graphql(`mutation ($id: String!) { createTag(input: { id: $id, name: $id }) }`, { id });

const bar = (page: Page) => page.getByRole("region", { name: "Selection" });
const box = (page: Page, name: string) =>
  page.getByRole("checkbox", { name: `Select ${name}`, exact: true });
const dialog = (page: Page) => page.getByRole("dialog");

async function choose(page: Page, menu: string, action: string): Promise<void> {
  await bar(page).getByRole("button", { name: menu }).click();
  await page.getByRole("menuitem", { name: action }).click();
}

test(
  "a selection survives paging and Back, and its change is undone exactly",
  WRITES,
  async ({ page, docent }) => {
    const urns = await createDatasets(docent, "bulkpaging", 22);
    await createTag(docent, "quillmark");
    const [first = "", second = ""] = urns;
    await addTag(docent, first, "urn:li:tag:quillmark");
    await addTag(docent, second, "urn:li:tag:pii");
    await page.goto("/search?query=bulkpaging");
    const boxes = page.getByRole("article").getByRole("checkbox");
    await expect(boxes).toHaveCount(20);
    await boxes.nth(1).click();
    await boxes.nth(4).click({ modifiers: ["Shift"] });
    await expect(bar(page)).toContainText("4 selected");
    // The keyboard selects ranges, too.
    await boxes.nth(6).focus();
    await page.keyboard.press("Shift+Space");
    await expect(bar(page)).toContainText("6 selected");
    await page.getByRole("link", { name: "Next" }).click();
    await expect(boxes).toHaveCount(2);
    await boxes.first().click();
    await expect(bar(page)).toContainText("7 selected 6 on other pages");
    await page.getByRole("article").getByRole("link").first().click();
    await expect(page).toHaveURL(/\/dataset\//);
    await page.goBack();
    await expect(bar(page)).toContainText("7 selected");
    await expect(boxes.first()).toBeChecked();

    await page.getByRole("button", { name: "Select all 22" }).click();
    await expect(bar(page)).toContainText("22 selected");
    await choose(page, "Tags", "Add tags…");
    await dialog(page).getByRole("combobox").fill("quillmark");
    await dialog(page).getByRole("option", { name: "quillmark" }).click();
    await expect(dialog(page)).toContainText("21 will change");
    await expect(dialog(page)).toContainText("1 stays as it is");
    await expectAccessible(page, "preview of a bulk action");
    await dialog(page).getByRole("button", { name: "Change 21 items" }).click();
    await expect(dialog(page).getByRole("status")).toContainText("21 changed");
    for (const urn of urns)
      expect((await labelsOf(docent, urn)).tags).toContain("urn:li:tag:quillmark");

    await dialog(page).getByRole("button", { name: "Undo all" }).click();
    await expect(dialog(page).getByRole("button", { name: "Redo all" })).toBeVisible();
    await expect(dialog(page).getByRole("status")).toHaveText("21 undone");
    const restored = await Promise.all(urns.map((urn) => labelsOf(docent, urn)));
    expect(restored.map(({ tags }) => tags)).toEqual([
      ["urn:li:tag:quillmark"],
      ["urn:li:tag:pii"],
      ...urns.slice(2).map(() => []),
    ]);
    await dialog(page).getByRole("button", { name: "Close", exact: true }).last().click();
    await expect(bar(page)).toContainText("21 changes undone.");
    await bar(page).getByRole("button", { name: "Clear" }).click();
    await expect(boxes.first()).not.toBeChecked();
    await expect(page.locator("#content")).toBeFocused();
  },
);

test(
  "datasets are moved to a domain, what changed meanwhile is left alone, and undo moves each back",
  WRITES,
  async ({ page, docent }) => {
    const urns = await createDatasets(docent, "bulkmove", 4);
    const [finance = "", sales = "", moved = "", later = ""] = urns;
    await docent.graphql(
      `mutation { source: createDomain(input: { id: "bulk-source", name: "Bulk source" }) target: createDomain(input: { id: "bulk-target", name: "Bulk target" }) }`,
    );
    await setDomain(docent, finance, "urn:li:domain:finance");
    await setDomain(docent, sales, "urn:li:domain:bulk-source");
    await page.goto("/search?query=bulkmove");
    await page.getByRole("checkbox", { name: "Select this page" }).click();
    await choose(page, "Domain", "Set domain…");
    await dialog(page).getByRole("combobox").fill("Bulk target");
    await page.keyboard.press("Enter");
    await expect(dialog(page)).toContainText("New domain: Bulk target");
    await expect(dialog(page)).toContainText("4 will change");
    await expect(dialog(page)).toContainText("Bulk source: 1");
    await expect(dialog(page)).toContainText("No domain: 2");
    // Somebody else moves one, after the preview.
    await setDomain(docent, moved, "urn:li:domain:bulk-source");
    await dialog(page).getByRole("button", { name: "Change 4 items" }).click();
    await expect(dialog(page).getByRole("status")).toContainText("3 changed");
    await expect(dialog(page)).toContainText("1 left alone: changed by somebody else");
    expect((await labelsOf(docent, moved)).domain).toBe("urn:li:domain:bulk-source");
    expect((await labelsOf(docent, finance)).domain).toBe("urn:li:domain:bulk-target");
    await dialog(page).getByRole("button", { name: "Close", exact: true }).last().click();

    // The undo waits in the bar, and leaves alone what was changed after it.
    await setDomain(docent, later, "urn:li:domain:finance");
    await bar(page).getByRole("button", { name: "Clear" }).click();
    await expect(bar(page)).toContainText("3 changes made.");
    await bar(page).getByRole("button", { name: "Undo all" }).click();
    await expect(dialog(page).getByRole("status")).toContainText("2 undone");
    await expect(dialog(page)).toContainText("1 left alone");
    const restored = await Promise.all(urns.map((urn) => labelsOf(docent, urn)));
    expect(restored.map(({ domain }) => domain)).toEqual([
      "urn:li:domain:finance",
      "urn:li:domain:bulk-source",
      "urn:li:domain:bulk-source",
      "urn:li:domain:finance",
    ]);
  },
);

test(
  "a steward changes the part of a selection that they may, on a phone",
  WRITES,
  async ({ page, context, browser, docent }) => {
    const [mine = "", also = "", other = ""] = await createDatasets(docent, "bulkrights", 3);
    await docent.graphql(
      `mutation { createDomain(input: { id: "bulk-rights", name: "Bulk rights" }) }`,
    );
    for (const urn of [mine, also]) await setDomain(docent, urn, "urn:li:domain:bulk-rights");
    const steward = await newUser(browser, docent, "Bulkrights", "Reader");
    await context.clearCookies();
    await context.addCookies(await steward.cookies());
    await steward.close();
    await docent.graphql(
      `mutation { addDomainSteward(domainUrn: "urn:li:domain:bulk-rights", actorUrn: "urn:li:corpuser:bulkrights@example.com") }`,
    );
    await page.setViewportSize({ width: 375, height: 740 });
    await page.goto("/search?query=bulkrights&filter__entityType=DATASET");
    await page.getByRole("checkbox", { name: "Select this page" }).click();
    await expect(bar(page)).toContainText("3 selected");
    await expectAccessible(page, "selection on a phone");
    // The bar is at the end of the window, and what has the focus is above it.
    await box(page, "bulkrights_00").focus();
    const focused = await box(page, "bulkrights_00").boundingBox();
    const covered = await bar(page).boundingBox();
    expect((focused?.y ?? 0) + (focused?.height ?? 0)).toBeLessThanOrEqual(covered?.y ?? 0);

    await choose(page, "More", "Deprecate…");
    await dialog(page).getByLabel("Note").fill("Use bulkrights_02");
    await expect(dialog(page)).toContainText("2 will change");
    await expect(dialog(page)).toContainText("1 you may not change");
    await dialog(page).getByText("1 you may not change").click();
    await expect(dialog(page)).toContainText("bulkrights_02");
    await expectAccessible(page, "bulk dialog on a phone");
    await dialog(page).getByRole("button", { name: "Change 2 items" }).click();
    await expect(dialog(page).getByRole("status")).toContainText("2 changed");
    const read = await docent.graphql<{
      entities: readonly { deprecation: { deprecated: boolean; note: string } | null }[];
    }>(
      `query ($urns: [String!]!) { entities(urns: $urns) { ... on Dataset { deprecation { deprecated note } } } }`,
      { urns: [mine, also, other] },
    );
    expect(read.entities.map(({ deprecation }) => deprecation?.note)).toEqual([
      "Use bulkrights_02",
      "Use bulkrights_02",
      undefined,
    ]);
  },
);

test(
  "owners are added with their kind and removed, and one rejected dataset does not stop the others",
  WRITES,
  async ({ page, docent }) => {
    const urns = await createDatasets(docent, "bulkowners", 3);
    await page.goto("/search?query=bulkowners");
    await page.getByRole("checkbox", { name: "Select this page" }).click();
    await choose(page, "Owners", "Add owners…");
    await dialog(page).getByLabel("Kind of ownership").selectOption({ label: "Business Owner" });
    await dialog(page).getByRole("combobox", { name: "Search users" }).fill("shop developer");
    await dialog(page)
      .getByRole("option", { name: /Shop Developer/ })
      .click();
    await expect(dialog(page)).toContainText("Shop Developer, Business Owner");
    // The server rejects every batch that has the second dataset.
    await page.route("**/api/graphql", async (route) => {
      const body = route.request().postData() ?? "";
      if (body.includes("mutation BatchAddOwners") && body.includes("bulkowners_01"))
        await route.fulfill({
          json: { errors: [{ message: "rejected by a test", extensions: { code: 403 } }] },
        });
      else await route.continue();
    });
    await dialog(page).getByRole("button", { name: "Change 3 items" }).click();
    await expect(dialog(page).getByRole("status")).toContainText("2 changed");
    await expect(dialog(page)).toContainText("1 failed");
    await expect(dialog(page)).toContainText("bulkowners_01: rejected by a test");
    await page.unroute("**/api/graphql");
    await dialog(page).getByRole("button", { name: "Try 1 again" }).click();
    await expect(dialog(page).getByRole("status")).toContainText("1 changed");
    // The undo is for all attempts.
    await dialog(page).getByRole("button", { name: "Undo all" }).click();
    await expect(dialog(page).getByRole("status")).toHaveText("3 undone");
    await dialog(page).getByRole("button", { name: "Redo all" }).click();
    await expect(dialog(page).getByRole("status")).toContainText("3 changed");
    await dialog(page).getByRole("button", { name: "Close", exact: true }).last().click();

    await choose(page, "Owners", "Remove owners…");
    await dialog(page)
      .getByRole("checkbox", { name: "Shop Developer, Business Owner on 3 items" })
      .check();
    await dialog(page).getByRole("button", { name: "Change 3 items" }).click();
    await expect(dialog(page).getByRole("status")).toContainText("3 changed");
    const read = await docent.graphql<{
      entities: readonly { ownership: { owners: readonly unknown[] } | null }[];
    }>(
      `query ($urns: [String!]!) { entities(urns: $urns) { ... on Dataset { ownership { owners { owner { ... on CorpUser { urn } } } } } } }`,
      { urns },
    );
    expect(read.entities.map(({ ownership }) => ownership?.owners ?? [])).toEqual([[], [], []]);
  },
);
