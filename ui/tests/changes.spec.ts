import { newUser } from "./accounts.ts";
import { address, createDataset, describe } from "./datasets.ts";
import { WRITES, expect, test } from "./fixtures.ts";

test(
  "the changes page lists edits and ingestion runs, and filters them",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_changes");
    await docent.graphql(
      `mutation { createDomain(input: { id: "changes-story", name: "Changes story" }) }`,
    );
    await docent.graphql(
      `mutation ($urn: String!) { setDomain(entityUrn: $urn, domainUrn: "urn:li:domain:changes-story") }`,
      { urn },
    );
    await describe(docent, urn, "Described for the list of changes.");
    const ingest = async (name: string) => {
      const reply = await fetch(`${docent.address}/aspects?action=ingestProposal`, {
        method: "POST",
        headers: { Authorization: `Bearer ${docent.token}`, "Content-Type": "application/json" },
        body: JSON.stringify({
          proposal: {
            entityType: "dataset",
            entityUrn: `urn:li:dataset:(urn:li:dataPlatform:postgres,${name},PROD)`,
            changeType: "UPSERT",
            aspectName: "datasetProperties",
            aspect: {
              contentType: "application/json",
              value: JSON.stringify({ description: name }),
            },
            systemMetadata: { runId: "postgres-story", lastObserved: 1 },
          },
        }),
      });
      expect(reply.ok, await reply.text()).toBe(true);
    };
    for (const name of ["changes_run_a", "changes_run_b"]) await ingest(name);
    await page.goto("/");
    await page.getByRole("link", { name: "Changes", exact: true }).click();
    await expect(page).toHaveTitle("Changes · Docent");
    // The most frequent kinds of a large run, and the others together.
    const sample = page.getByRole("listitem").filter({ hasText: "Ingestion run docent-demo" });
    await expect(sample).toContainText(/of 65 datasets, 20 domains, .+, and \d+ other items/);

    const changes = page.getByRole("list", { name: "Changes" });
    const run = changes.locator(".change").filter({ hasText: "Ingestion from" }).first();
    await expect(run).toContainText(/Ingestion from .*ostgre.* changed \d+ aspects of 2 datasets/);
    await run.getByText("Show what changed").click();
    await expect(run.getByRole("link", { name: "changes_run_b", exact: true })).toBeVisible();
    const edit = changes.locator(".change").filter({ hasText: "story_changes" }).first();
    await expect(edit).toContainText("DataHub");
    await page.getByRole("checkbox", { name: "People only" }).check();
    await expect(page).toHaveURL(/by=people/);
    await expect(changes).not.toContainText("Ingestion from");
    await expect(edit).toBeVisible();
    await page.getByRole("button", { name: "Domain: Any domain" }).click();
    await page.getByRole("option", { name: "Changes story" }).click();
    await expect(page).toHaveURL(/domain=urn/);
    await expect(changes.locator(".change").filter({ hasText: "story_changes" })).not.toHaveCount(
      0,
    );
    await expect(changes.locator(".change").filter({ hasText: "changes_run" })).toHaveCount(0);
    await page.getByRole("combobox", { name: "Kind" }).selectOption("Deprecation");
    await expect(page.getByText("No changes", { exact: true })).toBeVisible();
    await page.getByRole("link", { name: "Clear filters" }).click();
    await expect(page).toHaveURL(/\/changes$/);
    await edit.getByRole("link", { name: "History of story_changes" }).click();
    await expect(page).toHaveURL(/show=history/);
    await expect(page.getByText("Described for the list of changes.")).toBeVisible();
  },
);

test("a bar of the home page leads to the changes of its week", async ({ page }) => {
  await page.goto("/");
  await page.locator(".bar-link").last().click();
  await expect(page).toHaveURL(/\/changes\?period=\d+$/);
  await expect(page.getByRole("combobox", { name: "Period" })).toContainText(/Week of/);
  await expect(page.locator(".change").first()).toBeVisible();
  // The keyboard reaches the same address through the table of the chart.
  await page.goto("/");
  const link = page.getByRole("table", { name: "Changes per week" }).getByRole("link").last();
  await link.focus();
  await expect(link).toBeInViewport();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/changes\?period=\d+$/);
});

test(
  "the home page has what is mine: assets to describe, saved searches and recent views",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_mine");
    await docent.ingest(urn, "datasetProperties", { customProperties: {} });
    await docent.graphql(
      `mutation ($urn: String!) { addOwner(input: { resourceUrn: $urn, ownerUrn: "urn:li:corpuser:datahub", ownerEntityType: CORP_USER, type: TECHNICAL_OWNER }) }`,
      { urn },
    );
    await page.goto(address(urn));
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("story_mine");
    await page.goto("/");
    const viewed = page.getByRole("region", { name: "Recently viewed" });
    await expect(viewed.getByRole("link", { name: "story_mine" })).toBeVisible();
    const mine = page.getByRole("region", { name: "Yours to document" });
    await mine.getByRole("button", { name: "Describe story_mine" }).click();
    const dialog = page.getByRole("dialog", { name: "Describe story_mine" });
    await dialog.getByRole("textbox").fill("Mine, and described.");
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(mine.getByRole("link", { name: "story_mine" })).toHaveCount(0);
    await expect(mine.getByRole("status")).toHaveText("story_mine has a description.");
    await viewed.getByRole("button", { name: "Clear recently viewed" }).click();
    await expect(viewed).toHaveCount(0);

    await page.goto("/search?query=story_mine&filter_platform=urn:li:dataPlatform:hive");
    await page.getByRole("button", { name: "Save search" }).click();
    const naming = page.getByRole("dialog", { name: "Save this search" });
    await expect(naming).toContainText("is not part of a saved search");
    await naming.getByRole("textbox", { name: "Name" }).fill("Only Hive");
    await naming.getByRole("button", { name: "Save" }).click();
    await expect(page.getByRole("status").filter({ hasText: "Only Hive" })).toHaveText(
      "Search “Only Hive” saved. The filters are saved. The text “story_mine” is not part of a saved search.",
    );
    await page.goto("/");
    const saved = page.getByRole("region", { name: "Saved searches" });
    await saved.getByRole("button", { name: "Actions for saved search Only Hive" }).click();
    await page.getByRole("menuitem", { name: "Rename…" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("Hive alone");
    await page.getByRole("button", { name: "Save" }).click();
    await saved.getByRole("link", { name: "Hive alone" }).click();
    await expect(page.getByRole("button", { name: /Hive alone/ })).toBeVisible();
    const platforms = page.getByRole("group", { name: "Platform" });
    await expect(platforms).toHaveCount(0);
    await expect(page.locator("a[data-result]").first()).toBeVisible();
    await page.goto("/");
    await saved.getByRole("button", { name: "Actions for saved search Hive alone" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await expect(saved.getByRole("link", { name: "Hive alone" })).toHaveCount(0);
    await saved.getByRole("button", { name: "Undo" }).click();
    await expect(saved.getByRole("link", { name: "Hive alone" })).toBeVisible();
  },
);

test(
  "who accepts an invitation signed up, and did not add themselves",
  WRITES,
  async ({ page, browser, docent }) => {
    const paula = await newUser(browser, docent, "Paula", "Reader");
    await page.goto("/changes");
    const line = page.getByRole("listitem").filter({ hasText: "Paula" }).first();
    await expect(line).toContainText("Paula signed up");
    await expect(line).not.toContainText("added");
    await paula.close();
  },
);

test("a search that can't be saved says why", async ({ page }) => {
  const save = page.getByRole("button", { name: "Save search" });
  await page.goto("/search?query=orders");
  await save.click();
  await expect(page.getByText("Only filters can be saved, not the text “orders”.")).toBeVisible();
  await page.goto("/search?filter_anyTag=urn:li:tag:pii");
  await save.click();
  await expect(page.getByText("including those of columns can't be saved")).toBeVisible();
  await page.goto("/search");
  await expect(page.locator("a[data-result]").first()).toBeVisible();
  await expect(save).toHaveCount(0);
});

test("an announcement appears on the home page and can be deleted", WRITES, async ({ page }) => {
  await page.goto("/");
  await page.getByRole("button", { name: "Add announcement" }).click();
  const dialog = page.getByRole("dialog", { name: "Add an announcement" });
  await dialog.getByRole("button", { name: "Publish" }).click();
  await expect(dialog.getByRole("alert")).toHaveText("This field is required.");
  await expect(dialog.getByRole("textbox", { name: "Title" })).toBeFocused();
  await dialog.getByRole("textbox", { name: "Title" }).fill("Maintenance on Sunday");
  await dialog
    .getByRole("textbox", { name: "Text" })
    .fill("Expect **stale** tables until [noon](https://example.org/noon).");
  await dialog.getByRole("textbox", { name: /Link/ }).fill("https://example.org/status");
  await dialog.getByRole("button", { name: "Publish" }).click();
  const announcements = page.getByRole("region", { name: "Announcements" });
  await expect(announcements).toContainText("Expect stale tables until noon.");
  await expect(announcements.locator("strong")).toHaveText("stale");
  await expect(announcements.getByRole("link", { name: "noon" })).toHaveAttribute(
    "href",
    "https://example.org/noon",
  );
  await expect(announcements.getByRole("link", { name: "Maintenance on Sunday" })).toHaveAttribute(
    "href",
    "https://example.org/status",
  );
  await announcements
    .getByRole("button", { name: "Delete announcement Maintenance on Sunday" })
    .click();
  await expect(announcements.getByRole("article")).toHaveCount(0);
  await announcements.getByRole("button", { name: "Undo" }).click();
  await expect(announcements).toContainText("Maintenance on Sunday");
});
