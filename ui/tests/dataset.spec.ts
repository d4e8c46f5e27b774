import { address, createDataset, describe, saved, storedDescription } from "./datasets.ts";
import { answerConfirmations, CONFIRMATION } from "./editing.ts";
import { browse, WRITES, datasetUrn, expect, test } from "./fixtures.ts";

test("a dataset shows its location, columns and owners", async ({ page }) => {
  await page.goto(address(datasetUrn("postgres", "shop.public.orders")));
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("orders");
  await expect(page).toHaveTitle("orders · Docent");
  await expect(page.locator("header .breadcrumb")).toContainText("PostgreSQL");
  await expect(page.locator("header .breadcrumb")).toContainText("shop");
  await expect(page.getByRole("link", { name: "Sales" })).toBeVisible();
  await expect(page.getByRole("region", { name: "Owners" })).toContainText("Technical Owner");
  await expect(page.getByRole("table", { name: "Columns" })).toContainText("order_id");
});

test(
  "a description is edited with a preview and saved with Ctrl+Enter, next to the imported one",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_describe");
    await page.goto(address(urn));
    await expect(page.getByText("An imported description.")).toBeVisible();
    const editor = page.getByRole("textbox", { name: "Description (Markdown)" });
    // The page reacts to keys shortly after it is painted.
    await expect(async () => {
      await page.keyboard.press("e");
      await expect(editor).toBeFocused({ timeout: 2_000 });
    }).toPass();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("One row for each **reader**.");
    await expect(page.getByRole("region", { name: "Preview" }).locator("strong")).toHaveText(
      "reader",
    );
    await page.keyboard.press("Control+Enter");
    await expect(page.getByRole("button", { name: "Edit description", exact: true })).toBeVisible();
    await expect(page.getByText("One row for each reader.")).toBeVisible();
    await expect(page.getByText(/^Edited just now by DataHub$/)).toBeVisible();
    await expect(page.getByText("An imported description.")).toBeVisible();
    await expect(page.getByText(/^Imported just now/)).toBeVisible();
    expect(await storedDescription(docent, urn)).toBe("One row for each **reader**.");
  },
);

test(
  "a concurrent change is shown and not overwritten by accident",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_conflict");
    await describe(docent, urn, "The first text.");
    await page.goto(address(urn));
    await page.getByRole("button", { name: "Edit description", exact: true }).click();
    const editor = page.getByRole("textbox", { name: "Description (Markdown)" });
    await expect(editor).toBeFocused();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("My own text.");
    await describe(docent, urn, "Their text.");
    await page.getByRole("button", { name: "Save" }).click();
    const conflict = page.getByRole("alert");
    await expect(conflict).toContainText("Someone else changed this description");
    await expect(conflict).toContainText("Their text.");
    await expect(conflict).toContainText("My own text.");
    expect(await storedDescription(docent, urn)).toBe("Their text.");

    await conflict.getByRole("button", { name: "Keep editing" }).click();
    // The editor is a plain text area if typing started before CodeMirror was loaded.
    const text = () =>
      editor.evaluate((field) =>
        field instanceof HTMLTextAreaElement ? field.value : field.textContent,
      );
    await expect.poll(text).toContain("My own text.");
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page.getByRole("button", { name: "Edit description", exact: true })).toBeVisible();
    await expect(page.getByText("My own text.")).toBeVisible();
    expect(await storedDescription(docent, urn)).toBe("My own text.");
  },
);

test("navigating away asks before discarding unsaved text", WRITES, async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_unsaved");
  await page.goto(address(urn));
  await page.getByRole("button", { name: "Edit description", exact: true }).click();
  const editor = page.getByRole("textbox", { name: "Description (Markdown)" });
  await expect(editor).toBeFocused();
  await page.keyboard.type("half a sentence");
  const confirmations = answerConfirmations(page, "stay", "leave");
  await browse(page, "Domains");
  await expect.poll(() => confirmations).toEqual([CONFIRMATION]);
  await expect(page.getByText("half a sentence").first()).toBeVisible();
  await expect(editor).toBeFocused();
  await page.keyboard.press("Escape");
  await expect.poll(() => confirmations).toHaveLength(2);
  await browse(page, "Domains");
  await expect(page.getByRole("heading", { name: "Domains" })).toBeVisible();
});

test("links are added, edited, removed and restored", WRITES, async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_links");
  await page.goto(address(urn));
  const links = page.getByRole("region", { name: "Links" });
  await expect(links).toContainText("No links yet");
  await links.getByRole("button", { name: "Add link" }).click();
  const field = links.getByLabel("URL");
  await links.getByRole("button", { name: "Save" }).click();
  await expect(links.getByRole("alert")).toHaveText(["Enter a URL.", "Enter a label."]);
  await expect(field).toBeFocused();
  await links.getByLabel("Label").fill("Bad");
  for (const [invalid, message] of [
    ["javascript:alert(1)", /must start with https/],
    ["wiki.example.org/page", /must start with https/],
    ["https://", /incomplete/],
    ["mailto:nobody", /incomplete/],
    ["https://example.org/a b", /can't contain spaces/],
  ] as const) {
    await field.fill(invalid);
    await links.getByRole("button", { name: "Save" }).click();
    await expect(links.getByRole("alert").first()).toHaveText(message);
    await expect(field).toHaveAttribute("aria-invalid", "true");
  }
  await links.getByLabel("URL").fill("https://example.org/runbook");
  await links.getByLabel("Label").fill("Runbook");
  await links.getByRole("button", { name: "Save" }).click();
  await expect(links.getByRole("link", { name: "Runbook" })).toHaveAttribute(
    "href",
    "https://example.org/runbook",
  );
  await links.getByRole("button", { name: "Add link" }).click();
  await field.fill("https://EXAMPLE.org/runbook");
  await links.getByLabel("Label").fill("The same again");
  await links.getByRole("button", { name: "Save" }).click();
  await expect(links.getByText("This URL is already in the list as “Runbook”.")).toBeVisible();
  answerConfirmations(page, "leave");
  await links.getByRole("button", { name: "Cancel" }).click();
  await links.getByRole("button", { name: "Edit link Runbook" }).click();
  await links.getByLabel("Label").fill("On call");
  await links.getByRole("button", { name: "Save" }).click();
  await expect(links.getByRole("link", { name: "On call" })).toBeVisible();
  await links.getByRole("button", { name: "Remove link On call" }).click();
  await expect(links.getByRole("link", { name: "On call" })).toBeHidden();
  await links.getByRole("button", { name: "Undo" }).click();
  await expect(links.getByRole("link", { name: "On call" })).toBeVisible();
  await page.reload();
  await expect(links.getByRole("link", { name: "On call" })).toBeVisible();
});

test("a dataset opens whatever characters its name contains", async ({ page, docent }) => {
  const urn = await createDataset(docent, "bucket/story_letters #1? 50%25 &+=@");
  await page.goto("/search?query=story_letters");
  await page
    .getByRole("main")
    .getByRole("link", { name: /story_letters/ })
    .first()
    .click();
  await expect(page.getByText("An imported description.")).toBeVisible();
  await expect(page.locator("code.urn")).toHaveText(urn);
  await page.reload();
  await expect(page.locator("code.urn")).toHaveText(urn);
});

test("unsaved text of one dataset does not appear on another", async ({ page, docent }) => {
  const first = await createDataset(docent, "story_first_of_two");
  await createDataset(docent, "story_second_of_two");
  await page.goto(address(first));
  await expect(page.getByText("An imported description.")).toBeVisible();
  await page.keyboard.press("/");
  await page.keyboard.type("story_second_of_two");
  await page.getByRole("group", { name: "Datasets" }).getByRole("option").first().click();
  await expect(page.locator("code.urn")).toContainText("story_second_of_two");
  await page.getByRole("button", { name: "Edit description", exact: true }).click();
  await page.keyboard.type("Only about the second");
  answerConfirmations(page, "leave");
  await page.goBack();
  await expect(page.locator("code.urn")).toHaveText(first);
  await expect(page.getByText("Only about the second")).toBeHidden();
  await expect(page.getByRole("button", { name: "Edit description", exact: true })).toBeVisible();
});

test(
  "a dataset is added to a domain by typing and removed again",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_domain");
    await page.goto(address(urn));
    await page.getByRole("button", { name: "Set domain" }).click();
    const picker = page.getByRole("dialog", { name: "Select a domain" });
    await expect(picker.getByRole("option", { name: "Finance" })).toBeVisible();
    await page.keyboard.type("refunds");
    await expect(picker.getByRole("option")).toHaveText([
      "Finance",
      "Payments",
      "Refunds and Disputes",
    ]);
    await page.keyboard.press("Enter");
    await expect(page.getByRole("link", { name: "Refunds and Disputes" })).toBeVisible();
    await page.getByRole("button", { name: "Edit domain" }).click();
    await page.getByRole("button", { name: "Remove from domain" }).click();
    await expect(page.getByRole("button", { name: "Set domain" })).toBeVisible();
    await page.reload();
    await expect(page.getByRole("button", { name: "Set domain" })).toBeVisible();
  },
);

test(
  "Tab saves a column description and opens the next column",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_columns");
    await page.goto(address(urn));
    await page.getByRole("row", { name: /^id/ }).hover();
    await page.getByRole("button", { name: "Add description for column id" }).click();
    await expect(page.getByLabel("Description for column id")).toBeFocused();
    await page.keyboard.type("The number of the reader");
    await page.keyboard.press("Tab");
    await expect(page.getByLabel("Description for column name")).toBeFocused();
    await page.keyboard.type("What to call them");
    await page.keyboard.press("Control+Enter");
    await expect(page.getByRole("row", { name: /^id/ })).toContainText("The number of the reader");
    await expect(page.getByRole("row", { name: /^name/ })).toContainText("What to call them");
    await saved(page);
    await page.reload();
    await expect(page.getByRole("row", { name: /^id/ })).toContainText("The number of the reader");
    await expect(page.getByRole("row", { name: /^name/ })).toContainText("What to call them");
    await expect(page.getByText("3 columns · 2 documented")).toBeVisible();
  },
);

test(
  "a concurrent change to a column is kept until the user overwrites it",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_column_conflict");
    await page.goto(address(urn));
    await page.getByRole("button", { name: "Add description for column city" }).click();
    await expect(page.getByLabel("Description for column city")).toBeFocused();
    await page.keyboard.type("Mine");
    await docent.graphql(
      `mutation ($urn: String!) { updateDescription(input: { resourceUrn: $urn, subResource: "city", subResourceType: DATASET_FIELD, description: "Theirs" }) }`,
      { urn },
    );
    await page.keyboard.press("Control+Enter");
    const conflict = page.getByRole("alert");
    await expect(conflict).toContainText("Theirs");
    await expect(conflict).toContainText("Mine");
    await conflict.getByRole("button", { name: "Overwrite with mine" }).click();
    await expect(conflict).toBeHidden();
    await expect(page.getByRole("row", { name: /^city/ })).toContainText("Mine");
    await saved(page);
    await page.reload();
    await expect(page.getByRole("row", { name: /^city/ })).toContainText("Mine");
  },
);

test("nested fields appear below their parent and can be collapsed and filtered", async ({
  page,
  docent,
}) => {
  const nested = [
    "[version=2.0].[type=struct].[type=string].reader",
    "[version=2.0].[type=struct].[type=struct].address",
    "[version=2.0].[type=struct].[type=struct].address.[type=string].city",
    "[version=2.0].[type=struct].[type=struct].address.[type=string].street",
    ...Array.from(
      { length: 8 },
      (_, number) => `[version=2.0].[type=struct].[type=string].other_${number}`,
    ),
  ];
  const urn = await createDataset(docent, "story_nested", nested);
  await page.goto(address(urn));
  const table = page.getByRole("table", { name: "Columns" });
  await expect(table.getByRole("rowheader", { name: "city" })).toBeVisible();
  await page.getByRole("button", { name: "Collapse address" }).click();
  await expect(table.getByRole("rowheader", { name: "city" })).toBeHidden();
  await page.getByLabel("Filter columns").fill("street");
  await expect(table.getByRole("rowheader")).toHaveText([/address/, /street/]);
  await expect(page.getByText("2 of 12 columns")).toBeVisible();
});

test("pointing at a column moves nothing", async ({ page }) => {
  await page.goto(`/dataset/${datasetUrn("snowflake", "analytics.core.fct_orders")}`);
  const row = page.getByRole("row", { name: /discount_eur/ });
  const text = row.getByText("As a positive number");
  await row.scrollIntoViewIfNeeded();
  const before = await text.boundingBox();
  await row.hover();
  await expect(row.getByRole("button", { name: /Edit description/ })).toHaveCSS("opacity", "1");
  expect(await text.boundingBox()).toEqual(before);
});

test("the printed page of a dataset has no header and no buttons", async ({ page }) => {
  await page.goto(`/dataset/${datasetUrn("snowflake", "analytics.core.fct_orders")}`);
  await expect(page.getByRole("button", { name: "Add owner" })).toBeVisible();
  await page.emulateMedia({ media: "print" });
  await expect(page.getByRole("button", { name: "Add owner" })).toBeHidden();
  await expect(page.getByRole("banner")).toBeHidden();
  await expect(page.getByText("As a positive number")).toBeVisible();
});

test("a deprecated dataset names its replacement and its end", WRITES, async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_deprecated");
  const replacement = await createDataset(docent, "story_replacement");
  await docent.ingest(urn, "deprecation", {
    deprecated: true,
    note: "The numbers stopped in May.",
    actor: "urn:li:corpuser:datahub",
    decommissionTime: Date.UTC(2031, 4, 6, 12),
    replacement,
  });
  await page.goto(address(urn));
  const notice = page.locator(".notice");
  await expect(notice).toContainText("This dataset is deprecated. The numbers stopped in May.");
  await expect(notice).toContainText("Use story_replacement instead.");
  await expect(notice).toContainText("It will be decommissioned on May 6, 2031.");
  await notice.getByRole("link", { name: "story_replacement" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("story_replacement");
});

test(
  "only the undocumented columns are shown, until all are documented",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_undocumented");
    for (const column of ["id", "city"]) await describe(docent, urn, "Described.", column);
    await page.goto(address(urn));
    await page.getByRole("checkbox", { name: "Undocumented only" }).check();
    await expect(page.getByRole("rowheader")).toHaveText([/^name/]);
    await page.getByRole("button", { name: "Add description for column name" }).click();
    await page.keyboard.type("The name.");
    await page.keyboard.press("Control+Enter");
    await expect(page.getByText("All columns are documented.")).toBeVisible();
    // It disappears: nothing is undocumented.
    await page.getByRole("checkbox", { name: "Undocumented only" }).click();
    await expect(page.getByRole("rowheader")).toHaveCount(3);
    await expect(page.getByRole("checkbox", { name: "Undocumented only" })).toBeHidden();
  },
);

test("texts from right to left are shown so", WRITES, async ({ page, docent }) => {
  const urn = await createDataset(docent, "story_rtl");
  await describe(docent, urn, "طلبات العملاء، سطر لكل طلب.");
  await page.goto(address(urn));
  const text = page.getByText("طلبات العملاء");
  await expect(text).toBeVisible();
  expect(await text.evaluate((node) => getComputedStyle(node).direction)).toBe("rtl");
});
