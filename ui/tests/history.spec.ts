import { wordDiff, type DiffPart } from "../src/components/word_diff.ts";
import { address, createDataset, describe } from "./datasets.ts";
import { WRITES, datasetUrn, expect, test } from "./fixtures.ts";

test(
  "the history of a description shows who changed which words and restores a version",
  WRITES,
  async ({ page, docent }) => {
    const urn = datasetUrn("kafka", "accounts.signup-completed");
    const texts = [
      "Every click of a reader.",
      "Every click of a visitor.",
      "Every tap of a visitor.",
    ];
    for (const description of texts) {
      await docent.graphql(
        `mutation ($urn: String!, $description: String!) { updateDescription(input: { resourceUrn: $urn, description: $description }) }`,
        { urn, description },
      );
    }
    await page.goto(`/dataset/${urn}`);
    await page.getByRole("link", { name: "History", exact: true }).click();
    await expect(page).toHaveURL(/show=history/);
    const written = page.getByRole("region", { name: "Description", exact: true });
    const versions = written.getByRole("listitem");
    await expect(versions.first()).toContainText("DataHub");
    await expect(versions.first().locator("del")).toHaveText("click");
    await expect(versions.first().locator("ins")).toHaveText("tap");
    await expect(versions.nth(1).locator("ins")).toHaveText("visitor");
    // Not by color alone, and also for screen readers.
    await expect(versions.first().locator("ins")).toHaveCSS("text-decoration-line", "underline");
    await expect(versions.first().locator("ins")).toMatchAriaSnapshot("- insertion: added tap");
    await expect(versions.first().locator("del")).toMatchAriaSnapshot("- deletion: removed click");
    await versions
      .nth(2)
      .getByRole("button", { name: /Restore/ })
      .click();
    const dialog = page.getByRole("dialog", { name: "Restore this version?" });
    await expect(dialog.locator("ins")).toHaveText(["click", "reader"]);
    await dialog.getByRole("button", { name: "Restore" }).click();
    await expect(dialog).toBeHidden();
    await expect(versions).toHaveCount(4);
    await expect(versions.first()).toContainText("Current");
    await page.getByRole("link", { name: "Overview" }).click();
    await expect(page.getByText("Every click of a reader.")).toBeVisible();
  },
);

test(
  "the domain history of a dataset restores the previous domain",
  WRITES,
  async ({ page, docent }) => {
    const urn = datasetUrn("hive", "fct_users_created");
    for (const domain of ["urn:li:domain:finance", "urn:li:domain:sales"]) {
      await docent.graphql(
        `mutation ($urn: String!, $domain: String!) { setDomain(entityUrn: $urn, domainUrn: $domain) }`,
        {
          urn,
          domain,
        },
      );
    }
    await page.goto(`/dataset/${urn}?show=history`);
    const domain = page.getByRole("region", { name: "Domain", exact: true });
    await expect(domain.getByRole("listitem").first()).toContainText("Added to Sales");
    await domain
      .getByRole("listitem")
      .nth(1)
      .getByRole("button", { name: /Restore/ })
      .click();
    await page.getByRole("dialog").getByRole("button", { name: "Restore" }).click();
    await expect(domain.getByRole("listitem").first()).toContainText("Added to Finance");
  },
);

test(
  "a deleted domain is marked in the history and can't be restored",
  WRITES,
  async ({ page, docent }) => {
    const urn = datasetUrn("hive", "fct_users_deleted");
    const set = (domain: string) =>
      docent.graphql(
        `mutation ($urn: String!, $domain: String!) { setDomain(entityUrn: $urn, domainUrn: $domain) }`,
        {
          urn,
          domain,
        },
      );
    for (const id of ["deleted-before", "deleted-later"]) {
      await docent.graphql(
        `mutation ($id: String!) { createDomain(input: { id: $id, name: $id }) }`,
        { id },
      );
      await set(`urn:li:domain:${id}`);
    }
    await set("urn:li:domain:sales");
    const remove = (id: string) =>
      docent.graphql(`mutation ($urn: String!) { deleteDomain(urn: $urn) }`, {
        urn: `urn:li:domain:${id}`,
      });
    await remove("deleted-before");
    await page.goto(`/dataset/${urn}?show=history`);
    const versions = page
      .getByRole("region", { name: "Domain", exact: true })
      .getByRole("listitem");
    const deleted = versions.filter({ hasText: "deleted-before" });
    await expect(deleted).toContainText("which has since been deleted and can't be restored");
    await expect(deleted.getByRole("button")).toHaveCount(0);
    await expect(deleted.getByRole("link")).toHaveCount(0);
    await versions
      .filter({ hasText: "deleted-later" })
      .getByRole("button", { name: /Restore/ })
      .click();
    await remove("deleted-later");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Restore" }).click();
    await expect(dialog.getByRole("alert")).toContainText(
      "This domain has been deleted, so it can't be restored",
    );
  },
);

test("a column has its own history", WRITES, async ({ page, docent }) => {
  const urn = datasetUrn("hive", "fct_users_created");
  for (const description of ["The id", "The number"]) {
    await docent.graphql(
      `mutation ($urn: String!, $description: String!) { updateDescription(input: { resourceUrn: $urn, subResource: "user_id", subResourceType: DATASET_FIELD, description: $description }) }`,
      { urn, description },
    );
  }
  await page.goto(`/dataset/${urn}`);
  await page.getByRole("row", { name: /^user_id/ }).hover();
  await page.getByRole("link", { name: "History of column user_id" }).click();
  await expect(page.getByRole("heading", { name: "Column user_id", level: 2 })).toBeVisible();
  await expect(
    page.getByRole("heading", { name: "Description", exact: true, level: 3 }),
  ).toBeVisible();
  await expect(page).toHaveTitle("History of user_id in fct_users_created · Docent");
  const written = page.getByRole("region", { name: "Description", exact: true });
  await written.getByRole("button", { name: /Restore/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Restore" }).click();
  await expect(written.getByRole("listitem").first()).toContainText("Current");
  await expect(written.getByRole("listitem")).toHaveCount(3);
  // The first version equals the current one, so it has no button.
  await expect(written.getByRole("button", { name: /Restore/ })).toHaveCount(1);
});

test(
  "the author of a text is shown only while its version is available",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_old_author");
    await describe(docent, urn, "Written long ago.");
    await page.goto(address(urn));
    await expect(page.getByText(/^Edited just now by DataHub$/)).toBeVisible();
    // Change other fields of the aspect until the version with the text is pruned.
    for (let number = 0; number < 25; number += 1) {
      await docent.ingest(urn, "editableDatasetProperties", {
        description: "Written long ago.",
        name: `Name ${number}`,
      });
      await docent.ingest(urn, "datasetProperties", {
        description: "An imported description.",
        customProperties: { number: String(number) },
      });
    }
    const domain = "urn:li:domain:old-author";
    await docent.graphql(
      `mutation { createDomain(input: { id: "old-author", name: "0", description: "Created long ago." }) }`,
    );
    for (let number = 0; number < 25; number += 1) {
      await docent.graphql(
        `mutation ($urn: String!, $name: String!) { updateName(input: { urn: $urn, name: $name }) }`,
        {
          urn: domain,
          name: `Old author ${number}`,
        },
      );
    }
    await page.reload();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Name 24");
    await page.waitForLoadState("networkidle");
    await expect(page.locator(".description-text .source")).toHaveText(["Edited", "Imported"]);
    await page.goto(`/domain/${domain}`);
    await expect(page.getByText("Created long ago.")).toBeVisible();
    await page.waitForLoadState("networkidle");
    await expect(page.locator(".description-text .source")).toHaveText(["Edited"]);
  },
);

test("a word diff contains both texts and is fast for long texts", () => {
  const textOf = (parts: readonly DiffPart[], without: DiffPart["kind"]) =>
    parts
      .filter((part) => part.kind !== without)
      .map((part) => part.text)
      .join("");
  // A deterministic pseudorandom sequence.
  let seed = 7;
  const below = (limit: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % limit;
  };
  const words = (length: number, kinds: number) =>
    Array.from({ length }, () => `w${below(kinds)}`).join(" ");
  for (let round = 0; round < 300; round += 1) {
    const before = words(below(12), 4);
    const after = words(below(12), 4);
    const parts = wordDiff(before, after);
    expect(textOf(parts, "added"), `${before} | ${after}`).toBe(before);
    expect(textOf(parts, "removed"), `${before} | ${after}`).toBe(after);
  }
  expect(wordDiff("a b c d", "a c d e")).toEqual([
    { kind: "same", text: "a " },
    { kind: "removed", text: "b " },
    { kind: "same", text: "c d" },
    { kind: "added", text: " e" },
  ]);
  // Texts with many differing words, and texts with nothing in common.
  for (const after of [words(20_000, 5_000), "x".repeat(20_000).split("").join(" ")]) {
    const before = words(20_000, 5_000);
    const started = process.cpuUsage();
    const parts = wordDiff(before, after);
    // CPU time, because other tests run in parallel.
    expect(process.cpuUsage(started).user / 1000, "milliseconds").toBeLessThan(500);
    expect(textOf(parts, "added")).toBe(before);
    expect(textOf(parts, "removed")).toBe(after);
  }
});
