import { wordDiff, type DiffPart } from "../src/components/word_diff.ts";
import { momentsOf } from "../src/history/events.ts";
import { address, createDataset, describe } from "./datasets.ts";
import { WRITES, datasetUrn, expect, test } from "./fixtures.ts";

test(
  "the history shows who changed which words and restores a text",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_text_history");
    const versions = [
      "Every click of a reader.",
      "Every click of a visitor.",
      "Every tap of a visitor.",
    ];
    for (const description of versions) await describe(docent, urn, description);
    await page.goto(address(urn));
    await page.getByRole("link", { name: "History", exact: true }).click();
    await expect(page).toHaveURL(/show=history/);
    const history = page.getByRole("region", { name: "History" });
    await history.getByRole("combobox", { name: "Show" }).selectOption("Description");
    const moments = history.locator(".timeline-moment");
    await expect(moments).toHaveCount(3);
    await expect(moments.first()).toContainText("just now by DataHub");
    await expect(moments.first().locator("del")).toHaveText("click");
    await expect(moments.first().locator("ins")).toHaveText("tap");
    // Not by color alone, and also for screen readers.
    await expect(moments.first().locator("ins")).toHaveCSS("text-decoration-line", "underline");
    await expect(moments.first().locator("ins")).toMatchAriaSnapshot("- insertion: added tap");
    await expect(moments.first().locator("del")).toMatchAriaSnapshot("- deletion: removed click");
    await moments
      .nth(2)
      .getByRole("button", { name: /Restore/ })
      .click();
    const dialog = page.getByRole("dialog", { name: "Restore this version?" });
    await expect(dialog.locator("ins")).toHaveText(["click", "reader"]);
    await dialog.getByRole("button", { name: "Restore" }).click();
    await expect(dialog).toBeHidden();
    await expect(moments).toHaveCount(4);
    // The filter is part of the address.
    await page.reload();
    await expect(moments).toHaveCount(4);
    await page.getByRole("link", { name: "Columns" }).click();
    await expect(page.getByText("Every click of a reader.")).toBeVisible();
  },
);

test(
  "the history has tags, owners, links, deprecation and domains, each with its way back",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_label_history");
    const change = (mutation: string) =>
      docent.graphql(`mutation ($urn: String!) { ${mutation} }`, { urn });
    await docent.graphql(
      `mutation { createTag(input: { id: "history-pii", name: "History PII" })
        a: createDomain(input: { id: "history-gone", name: "Gone domain" }) }`,
    );
    await change(`addTag(input: { resourceUrn: $urn, tagUrn: "urn:li:tag:history-pii" })`);
    await change(
      `addTag(input: { resourceUrn: $urn, tagUrn: "urn:li:tag:history-pii", subResource: "city", subResourceType: DATASET_FIELD })`,
    );
    await change(
      `addLink(input: { resourceUrn: $urn, linkUrl: "https://example.org/run", label: "Runbook" })`,
    );
    await change(`updateDeprecation(input: { urn: $urn, deprecated: true, note: "Use the new." })`);
    for (const domain of ["history-gone", "finance", "sales"])
      await change(`setDomain(entityUrn: $urn, domainUrn: "urn:li:domain:${domain}")`);
    await docent.graphql(`mutation { deleteDomain(urn: "urn:li:domain:history-gone") }`);
    await page.goto(`${address(urn)}?show=history`);
    const history = page.getByRole("region", { name: "History" });
    const row = (label: string) =>
      history.locator(".timeline-row").filter({
        has: page.locator(".timeline-label").getByText(label, { exact: true }),
      });
    await expect(row("Tags")).toContainText("History PII");
    await expect(row("Tags of city")).toContainText("History PII");
    await expect(row("Deprecation")).toContainText("Deprecated. Use the new.");
    await expect(row("Links")).toContainText("Runbook");
    // The schema of the first ingestion.
    await expect(row("Columns").last()).toContainText("city");
    await row("Tags").getByRole("button", { name: "Undo this change: Tags history-pii" }).click();
    await expect(row("Tags").first().locator("del")).toContainText("History PII");
    await row("Tags of city").getByRole("button", { name: /Undo/ }).click();
    await expect(row("Tags of city").first().locator("del")).toContainText("History PII");
    await row("Deprecation").getByRole("button", { name: /Undo/ }).click();
    await expect(row("Deprecation").first()).toContainText("No longer deprecated");
    await row("Links").getByRole("button", { name: /Undo/ }).click();
    await expect(row("Links").first().locator("del")).toContainText("Runbook");
    // An earlier domain can be assigned again, unless it was deleted.
    const gone = row("Domain").filter({ hasText: "history-gone (deleted)" });
    await expect(gone.first()).toBeVisible();
    await expect(gone.last().getByRole("button")).toHaveCount(0);
    await row("Domain").getByRole("button", { name: "Restore: Domain finance" }).click();
    await expect(row("Domain").first().locator("ins")).toContainText("Finance");
    // Values of properties have names; what the server has written says so.
    await page.goto(
      `${address("urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics.core.fct_orders,PROD)")}?show=history`,
    );
    await expect(row("Properties").getByRole("link", { name: "Data Team" })).toBeVisible();
    await expect(history.locator(".timeline-byline").last()).toContainText("by System");
    // The tag's own page has a history, too.
    await page.goto("/tag/urn:li:tag:history-pii?show=history");
    await expect(page).toHaveTitle("History of History PII · Docent");
  },
);

test(
  "names, structured properties and parents are changed back in the history",
  WRITES,
  async ({ page, docent }) => {
    const history = page.getByRole("region", { name: "History" });
    const row = (label: string) =>
      history.locator(".timeline-row").filter({
        has: page.locator(".timeline-label").getByText(label, { exact: true }),
      });
    const undo = (label: string) => row(label).getByRole("button", { name: /^Undo/ });
    const urn = await createDataset(docent, "story_value_history");
    const property = "urn:li:structuredProperty:history.level";
    await docent.graphql(
      `mutation { createStructuredProperty(input: { id: "history.level", qualifiedName: "history.level",
        displayName: "Level", valueType: "urn:li:dataType:datahub.number",
        entityTypes: ["urn:li:entityType:datahub.dataset"] }) { urn } }`,
    );
    for (const level of [1, 2])
      await docent.graphql(
        `mutation ($urn: String!, $property: String!, $level: Float!) { upsertStructuredProperties(input: { assetUrn: $urn,
          structuredPropertyInputParams: [{ structuredPropertyUrn: $property, values: [{ numberValue: $level }] }] }) { properties { associatedUrn } } }`,
        { urn, property, level },
      );
    for (const name of ["First name", "Second name"])
      await docent.graphql(
        `mutation ($urn: String!, $name: String!) { updateName(input: { urn: $urn, name: $name }) }`,
        { urn, name },
      );
    await page.goto(`${address(urn)}?show=history`);
    await undo("Name").click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("First name");
    await row("Name").getByRole("button", { name: "Restore: Name Second name" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Second name");
    await expect(row("Properties").first()).toContainText("Level: 2");
    await undo("Properties").click();
    await expect(row("Properties").first()).toContainText("Level: 1");
    await docent.graphql(
      `mutation ($urn: String!, $property: String!) { removeStructuredProperties(input: { assetUrn: $urn, structuredPropertyUrns: [$property] }) { properties { associatedUrn } } }`,
      { urn, property },
    );
    await page.reload();
    await expect(row("Properties").first().locator("del")).toContainText("Level: 1");
    await undo("Properties").click();
    await expect(row("Properties").first().locator("ins")).toContainText("Level: 1");
    await undo("Properties").click();
    await expect(row("Properties").first().locator("del")).toContainText("Level: 1");

    // A domain and a term group, each moved from one parent to another and to the top.
    await docent.graphql(
      `mutation { a: createDomain(input: { id: "history-a", name: "History A" })
        b: createDomain(input: { id: "history-b", name: "History B", parentDomain: "urn:li:domain:history-a" })
        c: createGlossaryNode(input: { id: "history-group", name: "History group" })
        d: createGlossaryTerm(input: { id: "history-term", name: "History term", parentNode: "urn:li:glossaryNode:history-group" }) }`,
    );
    await page.goto("/domain/urn:li:domain:history-b?show=history");
    await expect(row("Location").first()).toContainText("History A");
    // Its creation put it there.
    await expect(undo("Location")).toHaveCount(0);
    await docent.graphql(
      `mutation { moveDomain(input: { resourceUrn: "urn:li:domain:history-b" })
        updateParentNode(input: { resourceUrn: "urn:li:glossaryTerm:history-term" }) }`,
    );
    await page.reload();
    await undo("Location").click();
    await expect(row("Location").first().locator("ins")).toContainText("History A");
    await undo("Location").click();
    await expect(row("Location").first().locator("del")).toContainText("History A");
    await page.goto("/glossaryTerm/urn:li:glossaryTerm:history-term?show=history");
    await undo("Location").click();
    await expect(row("Location").first().locator("ins")).toContainText("History group");
  },
);

test(
  "the history shows links of every kind, and links only safe ones",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_unsafe_history");
    const createStamp = { time: 1, actor: "urn:li:corpuser:datahub" };
    await docent.ingest(urn, "institutionalMemory", {
      elements: [
        { url: "javascript:alert(1)", description: "Script", createStamp },
        { url: "vendor-handler:run", description: "Program", createStamp },
        { url: "https://example.org/run", description: "Runbook", createStamp },
      ],
    });
    await page.goto(`${address(urn)}?show=history`);
    const history = page.getByRole("region", { name: "History" });
    await expect(history).toContainText("Script javascript:alert(1)");
    await expect(history).toContainText("Program vendor-handler:run");
    await expect(history.getByRole("link", { name: "Runbook" })).toHaveAttribute(
      "href",
      "https://example.org/run",
    );
    await expect(history.getByRole("link", { name: /Script|Program/ })).toHaveCount(0);
    await expect(history.locator("a[href^='javascript'], a[href^='vendor']")).toHaveCount(0);
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

test("changes of one actor within a millisecond are told apart", () => {
  const change = {
    aspectName: "globalTags",
    category: "TAG" as const,
    operation: "ADD" as const,
    modifier: "urn:li:tag:pii",
    description: null,
    parameters: null,
  };
  const transaction = {
    timestampMillis: 1,
    actor: "urn:li:corpuser:datahub",
    changes: [change],
  } as unknown as Parameters<typeof momentsOf>[0][number];
  const moments = momentsOf([transaction, transaction, transaction]);
  expect(new Set(moments.map(({ id }) => id)).size).toBe(3);
  expect(new Set(moments.flatMap(({ events }) => events.map(({ id }) => id))).size).toBe(3);
});

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
