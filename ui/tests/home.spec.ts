import { WRITES, expect, expectFocusInside, test } from "./fixtures.ts";

test("the home page shows domains, edits and documentation coverage", async ({ page }) => {
  await page.goto("/");
  await expect(page).toHaveTitle("Home · Docent");
  const domains = page.getByRole("region", { name: "Domains" });
  await expect(domains.getByRole("listitem").filter({ hasText: "Finance" })).toContainText(
    /Finance\s*\d+/,
  );
  await expect(page.getByText(/[\d,]+ datasets in [\d,]+ domains/)).toBeVisible();
  await expect(
    page.getByText(/\d+ of \d+ datasets .+ and \d+ of \d+ columns .+ are documented/),
  ).toBeVisible();
  const coverage = page.getByRole("table", { name: "Documented columns by domain" });
  await coverage.getByRole("link", { name: "No domain" }).click();
  await expect(page.getByRole("checkbox", { name: "No domain" })).toBeChecked();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("results");
  await page.goBack();
  const weeks = page.getByRole("table", { name: "Changes per week" }).getByRole("row");
  await expect(weeks).toHaveCount(26);
  await expect(weeks.last()).toHaveText(/^Week of .*\D[\d,]+$/);
  await expect(page.getByRole("region", { name: "Edited by people" })).toBeVisible();
});

test(
  "an edit appears first on the home page, with its author",
  WRITES,
  async ({ page, docent }) => {
    const urn = "urn:li:dataset:(urn:li:dataPlatform:hive,fct_users_deleted,PROD)";
    await docent.graphql(
      `mutation ($urn: String!) { updateDescription(input: { resourceUrn: $urn, description: "changed for the home page" }) }`,
      { urn },
    );
    await page.goto("/");
    const first = page
      .getByRole("region", { name: "Edited by people" })
      .getByRole("listitem")
      .first();
    await expect(first).toContainText("DataHub changed the description of fct_users_deleted");
    await expect(first).toContainText("just now");
  },
);

test(
  "describing a column updates the coverage of its domain immediately",
  WRITES,
  async ({ page, docent }) => {
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
    await docent.graphql(
      `mutation { createDomain(input: { id: "counted", name: "Counted for home" }) }`,
    );
    await docent.ingest(urn, "schemaMetadata", {
      schemaName: "counted",
      platform: "urn:li:dataPlatform:hive",
      version: 0,
      hash: "",
      platformSchema: { "com.linkedin.schema.OtherSchema": { rawSchema: "" } },
      fields: [
        column("imported", "An imported description"),
        column("edited", null),
        column("undocumented", null),
      ],
    });
    await docent.graphql(
      `mutation ($urn: String!) { setDomain(entityUrn: $urn, domainUrn: "urn:li:domain:counted") }`,
      {
        urn,
      },
    );
    const coverage = page
      .getByRole("table", { name: /by domain/ })
      .getByRole("row", { name: /Counted for home/ });
    await page.goto("/");
    await expect(coverage).toContainText("1 / 3");
    for (const [subResource, counted] of [
      ["edited", "2 / 3"],
      // A column with both descriptions counts once.
      ["imported", "2 / 3"],
    ] as const) {
      await docent.graphql(
        `mutation ($urn: String!, $subResource: String!) {
        updateDescription(input: {
          resourceUrn: $urn, subResource: $subResource, subResourceType: DATASET_FIELD, description: "An edited description"
        })
      }`,
        { urn, subResource },
      );
      await page.goto("/domains");
      await page.goto("/");
      await expect(coverage).toContainText(counted);
    }
  },
);

test("the search box suggests entities by type and the keyboard selects one", async ({ page }) => {
  await page.goto("/domains");
  await expect(page.getByRole("heading", { name: "Domains" })).toBeVisible();
  await page.keyboard.press("/");
  const box = page.getByRole("combobox", { name: "Search the catalog" });
  await expect(box).toBeFocused();
  await box.fill("fct_");
  const list = page.getByRole("listbox", { name: "Suggestions" });
  await expect(
    list.getByRole("group", { name: "Datasets" }).getByRole("option").first(),
  ).toBeVisible();
  await page.keyboard.press("ArrowDown");
  await expect(list.getByRole("option").first()).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/dataset\/urn:li:dataset:/);
  await page.keyboard.press("Control+k");
  await expect(box).toBeFocused();
  await box.fill("fina");
  await expect(
    list.getByRole("group", { name: "Domains" }).getByRole("option", { name: /Finance/ }),
  ).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(list).toBeHidden();
});

test("the question mark opens the keyboard shortcuts", async ({ page }) => {
  await page.goto("/domains");
  await expect(page.getByRole("heading", { name: "Domains" })).toBeVisible();
  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await expect(dialog).toContainText("Search");
  await expectFocusInside(dialog);
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  await page.keyboard.press("g");
  await page.keyboard.press("h");
  await expect(page).toHaveTitle("Home · Docent");
});

test("unknown pages, datasets and domains show a not-found message", async ({ page }) => {
  await page.goto("/settings/nothing");
  await expect(page.getByText("Page not found")).toBeVisible();
  await page.goto("/dataset/urn:li:dataset:(urn:li:dataPlatform:hive,no_such_table,PROD)");
  await expect(page.getByText("Dataset not found")).toBeVisible();
  await page.goto("/domain/urn:li:domain:nowhere");
  await expect(page.getByText("Domain not found")).toBeVisible();
});
