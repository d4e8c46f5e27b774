import { WRITES, expect, hearsKeys, test } from "./docent.ts";

test("home shows domains with counts, what changed, and how much is documented", async ({ page }) => {
  await page.goto("/");
  await expect(page).toHaveTitle("Home · Docent");
  const domains = page.getByRole("region", { name: "Domains" });
  await expect(domains.getByRole("listitem").filter({ hasText: "Finance" })).toContainText(/\d+/);
  await expect(page.getByText(/[\d,]+ datasets in [\d,]+ domains/)).toBeVisible();
  await expect(page.getByText(/\d+ of \d+ datasets .+ and \d+ of \d+ columns .+ are described/)).toBeVisible();
  await expect(page.getByRole("table", { name: "Columns with a description, by domain." })).toBeVisible();
  const weeks = page.getByRole("table", { name: "Changes by week" }).getByRole("row");
  await expect(weeks).toHaveCount(26);
  await expect(weeks.last()).toHaveText(/^Week of .*\D[\d,]+$/);
  const recent = page.getByRole("region", { name: "Recently changed" });
  await expect(recent.getByRole("listitem").first()).toContainText(/ago|minute/);
});

test("a change stands first among the recent ones, with who made it", WRITES, async ({ page, docent }) => {
  const urn = "urn:li:dataset:(urn:li:dataPlatform:hive,fct_users_deleted,PROD)";
  await docent.ask(
    `mutation ($urn: String!) { updateDescription(input: { resourceUrn: $urn, description: "changed for the home page" }) }`,
    { urn },
  );
  await page.goto("/");
  const first = page.getByRole("region", { name: "Recently changed" }).getByRole("listitem").first();
  await expect(first).toContainText("fct_users_deleted");
  await expect(first).toContainText("description · DataHub");
});

test("describing a column is counted at once, in its domain and in all", WRITES, async ({ page, docent }) => {
  const urn = "urn:li:dataset:(urn:li:dataPlatform:hive,counted_for_home,PROD)";
  const column = (fieldPath: string, description: string | null) => ({
    fieldPath,
    description,
    nullable: false,
    type: { type: { "com.linkedin.schema.StringType": {} } },
    nativeDataType: "varchar",
    recursive: false,
    isPartOfKey: false,
  });
  await docent.ask(`mutation { createDomain(input: { id: "counted", name: "Counted for home" }) }`);
  await docent.ingest(urn, "schemaMetadata", {
    schemaName: "counted",
    platform: "urn:li:dataPlatform:hive",
    version: 0,
    hash: "",
    platformSchema: { "com.linkedin.schema.OtherSchema": { rawSchema: "" } },
    fields: [column("said", "what ingestion said"), column("asked", null), column("silent", null)],
  });
  await docent.ask(`mutation ($urn: String!) { setDomain(entityUrn: $urn, domainUrn: "urn:li:domain:counted") }`, {
    urn,
  });
  const share = page.getByRole("table", { name: /by domain/ }).getByRole("row", { name: /Counted for home/ });
  await page.goto("/");
  await expect(share).toContainText("1 / 3");
  for (const [subResource, counted] of [
    ["asked", "2 / 3"],
    // Described by both, it counts once.
    ["said", "2 / 3"],
  ] as const) {
    await docent.ask(
      `mutation ($urn: String!, $subResource: String!) {
        updateDescription(input: {
          resourceUrn: $urn, subResource: $subResource, subResourceType: DATASET_FIELD, description: "what a person said"
        })
      }`,
      { urn, subResource },
    );
    await page.goto("/domains");
    await page.goto("/");
    await expect(share).toContainText(counted);
  }
});

test("typing completes names by kind, and the keyboard chooses", async ({ page }) => {
  await page.goto("/domains");
  await expect(page.getByRole("heading", { name: "Domains" })).toBeVisible();
  await page.keyboard.press("/");
  const box = page.getByRole("combobox", { name: "Search the catalog" });
  await expect(box).toBeFocused();
  await box.fill("fct_");
  const list = page.getByRole("listbox", { name: "Suggestions" });
  await expect(list.getByRole("group", { name: "Datasets" }).getByRole("option").first()).toBeVisible();
  await page.keyboard.press("ArrowDown");
  await expect(list.getByRole("option").first()).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/dataset\/urn:li:dataset:/);
  await page.keyboard.press("Control+k");
  await expect(box).toBeFocused();
  await box.fill("fina");
  await expect(list.getByRole("group", { name: "Domains" }).getByRole("option", { name: /Finance/ })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(list).toBeHidden();
});

test("the question mark shows the keys", async ({ page }) => {
  await page.goto("/domains");
  await expect(page.getByRole("heading", { name: "Domains" })).toBeVisible();
  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Keys" });
  await expect(dialog).toContainText("Search");
  await hearsKeys(dialog);
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  await page.keyboard.press("g");
  await page.keyboard.press("h");
  await expect(page).toHaveTitle("Home · Docent");
});

test("an address that leads nowhere says so", async ({ page }) => {
  await page.goto("/settings/nothing");
  await expect(page.getByText("There is no such page.")).toBeVisible();
  await page.goto("/dataset/urn:li:dataset:(urn:li:dataPlatform:hive,no_such_table,PROD)");
  await expect(page.getByText("This dataset does not exist.")).toBeVisible();
  await page.goto("/domain/urn:li:domain:nowhere");
  await expect(page.getByText("This domain does not exist.")).toBeVisible();
});
