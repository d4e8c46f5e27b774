import { wordDiff, type Piece } from "../src/components/word_diff.ts";
import { address, describe, made } from "./datasets.ts";
import { WRITES, datasetUrn, expect, test } from "./docent.ts";

test(
  "the history of a description shows who changed which words, and restores them",
  WRITES,
  async ({ page, docent }) => {
    const urn = datasetUrn("kafka", "accounts.signup-completed");
    const texts = ["Every click of a reader.", "Every click of a visitor.", "Every tap of a visitor."];
    for (const description of texts) {
      await docent.ask(
        `mutation ($urn: String!, $description: String!) { updateDescription(input: { resourceUrn: $urn, description: $description }) }`,
        { urn, description },
      );
    }
    await page.goto(`/dataset/${urn}`);
    await page.getByRole("link", { name: "History", exact: true }).click();
    await expect(page).toHaveURL(/show=history/);
    const written = page.getByRole("region", { name: "Description, written by people" });
    const versions = written.getByRole("listitem");
    await expect(versions.first()).toContainText("DataHub");
    await expect(versions.first().locator("del")).toHaveText("click");
    await expect(versions.first().locator("ins")).toHaveText("tap");
    await expect(versions.nth(1).locator("ins")).toHaveText("visitor");
    // Neither is told by its colour alone, nor to the eyes alone.
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
    await expect(versions.first()).toContainText("current");
    await page.getByRole("link", { name: "Overview" }).click();
    await expect(page.getByText("Every click of a reader.")).toBeVisible();
  },
);

test("the history of a domain's assignment restores the domain of before", WRITES, async ({ page, docent }) => {
  const urn = datasetUrn("hive", "fct_users_created");
  for (const domain of ["urn:li:domain:finance", "urn:li:domain:sales"]) {
    await docent.ask(`mutation ($urn: String!, $domain: String!) { setDomain(entityUrn: $urn, domainUrn: $domain) }`, {
      urn,
      domain,
    });
  }
  await page.goto(`/dataset/${urn}?show=history`);
  const domain = page.getByRole("region", { name: "Domain", exact: true });
  await expect(domain.getByRole("listitem").first()).toContainText("put into Sales");
  await domain
    .getByRole("listitem")
    .nth(1)
    .getByRole("button", { name: /Restore/ })
    .click();
  await page.getByRole("dialog").getByRole("button", { name: "Restore" }).click();
  await expect(domain.getByRole("listitem").first()).toContainText("put into Finance");
});

test("a domain that was deleted is said to be gone, and is not offered", WRITES, async ({ page, docent }) => {
  const urn = datasetUrn("hive", "fct_users_deleted");
  const set = (domain: string) =>
    docent.ask(`mutation ($urn: String!, $domain: String!) { setDomain(entityUrn: $urn, domainUrn: $domain) }`, {
      urn,
      domain,
    });
  for (const id of ["gone-before", "gone-meanwhile"]) {
    await docent.ask(`mutation ($id: String!) { createDomain(input: { id: $id, name: $id }) }`, { id });
    await set(`urn:li:domain:${id}`);
  }
  await set("urn:li:domain:sales");
  const remove = (id: string) =>
    docent.ask(`mutation ($urn: String!) { deleteDomain(urn: $urn) }`, { urn: `urn:li:domain:${id}` });
  await remove("gone-before");
  await page.goto(`/dataset/${urn}?show=history`);
  const versions = page.getByRole("region", { name: "Domain", exact: true }).getByRole("listitem");
  const gone = versions.filter({ hasText: "gone-before" });
  await expect(gone).toContainText("which was deleted since and cannot be restored");
  await expect(gone.getByRole("button")).toHaveCount(0);
  await expect(gone.getByRole("link")).toHaveCount(0);
  await versions
    .filter({ hasText: "gone-meanwhile" })
    .getByRole("button", { name: /Restore/ })
    .click();
  await remove("gone-meanwhile");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Restore" }).click();
  await expect(dialog.getByRole("alert")).toContainText("This domain was deleted and is no longer there");
});

test("a column has a history of its own", WRITES, async ({ page, docent }) => {
  const urn = datasetUrn("hive", "fct_users_created");
  for (const description of ["The id", "The number"]) {
    await docent.ask(
      `mutation ($urn: String!, $description: String!) { updateDescription(input: { resourceUrn: $urn, subResource: "user_id", subResourceType: DATASET_FIELD, description: $description }) }`,
      { urn, description },
    );
  }
  await page.goto(`/dataset/${urn}`);
  await page.getByRole("row", { name: /^user_id/ }).hover();
  await page.getByRole("link", { name: "History of the column user_id" }).click();
  await expect(page.getByRole("heading", { name: "Column user_id", level: 2 })).toBeVisible();
  await expect(page.getByRole("heading", { name: "Description, written by people", level: 3 })).toBeVisible();
  await expect(page).toHaveTitle("History of user_id in fct_users_created · Docent");
  const written = page.getByRole("region", { name: "Description, written by people" });
  await written.getByRole("button", { name: /Restore/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Restore" }).click();
  await expect(written.getByRole("listitem").first()).toContainText("current");
  await expect(written.getByRole("listitem")).toHaveCount(3);
  // The first one says what is so again: there is nothing to restore.
  await expect(written.getByRole("button", { name: /Restore/ })).toHaveCount(1);
});

test("who wrote a text is said only as far back as versions are kept", WRITES, async ({ page, docent }) => {
  const urn = await made(docent, "story_old_author");
  await describe(docent, urn, "Written long ago.");
  await page.goto(address(urn));
  await expect(page.getByText(/Written by people · DataHub/)).toBeVisible();
  // Changes of something else in the same aspect, until the version with the text is no longer kept.
  for (let number = 0; number < 25; number += 1) {
    await docent.ingest(urn, "editableDatasetProperties", { description: "Written long ago.", name: `Name ${number}` });
    await docent.ingest(urn, "datasetProperties", {
      description: "What ingestion said.",
      customProperties: { number: String(number) },
    });
  }
  const domain = "urn:li:domain:old-author";
  await docent.ask(`mutation { createDomain(input: { id: "old-author", name: "0", description: "Said long ago." }) }`);
  for (let number = 0; number < 25; number += 1) {
    await docent.ask(`mutation ($urn: String!, $name: String!) { updateName(input: { urn: $urn, name: $name }) }`, {
      urn: domain,
      name: `Old author ${number}`,
    });
  }
  await page.reload();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Name 24");
  await page.waitForLoadState("networkidle");
  await expect(page.locator(".said .source")).toHaveText(["Written by people", "From ingestion"]);
  await page.goto(`/domain/${domain}`);
  await expect(page.getByText("Said long ago.")).toBeVisible();
  await page.waitForLoadState("networkidle");
  await expect(page.locator(".said .source")).toHaveText(["Last changed"]);
});

test("a word difference holds both texts, is the shortest there is, and is found at once however long they are", () => {
  const textOf = (pieces: readonly Piece[], without: Piece["kind"]) =>
    pieces
      .filter((piece) => piece.kind !== without)
      .map((piece) => piece.text)
      .join("");
  // Numbers that look random and are the same every time.
  let seed = 7;
  const below = (limit: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % limit;
  };
  const words = (length: number, kinds: number) => Array.from({ length }, () => `w${below(kinds)}`).join(" ");
  for (let round = 0; round < 300; round += 1) {
    const before = words(below(12), 4);
    const after = words(below(12), 4);
    const pieces = wordDiff(before, after);
    expect(textOf(pieces, "added"), `${before} | ${after}`).toBe(before);
    expect(textOf(pieces, "removed"), `${before} | ${after}`).toBe(after);
  }
  expect(wordDiff("a b c d", "a c d e")).toEqual([
    { kind: "same", text: "a " },
    { kind: "removed", text: "b " },
    { kind: "same", text: "c d" },
    { kind: "added", text: " e" },
  ]);
  // Texts of which every other word differs, and texts that have nothing in common.
  for (const after of [words(20_000, 5_000), "x".repeat(20_000).split("").join(" ")]) {
    const before = words(20_000, 5_000);
    const began = performance.now();
    const pieces = wordDiff(before, after);
    expect(performance.now() - began).toBeLessThan(500);
    expect(textOf(pieces, "added")).toBe(before);
    expect(textOf(pieces, "removed")).toBe(after);
  }
});
