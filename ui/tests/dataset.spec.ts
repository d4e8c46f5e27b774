import { address, describe, described, made, saved } from "./datasets.ts";
import { WRITES, datasetUrn, expect, test } from "./docent.ts";

test("a dataset shows where it is, what it is and who looks after it", async ({ page }) => {
  await page.goto(address(datasetUrn("postgres", "shop.public.orders")));
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("orders");
  await expect(page).toHaveTitle("orders · Docent");
  await expect(page.locator(".breadcrumb")).toContainText("PostgreSQL");
  await expect(page.locator(".breadcrumb")).toContainText("shop");
  await expect(page.getByRole("link", { name: "Sales" })).toBeVisible();
  await expect(page.locator("dl.facts")).toContainText("Owners");
  await expect(page.getByRole("table", { name: "Columns" })).toContainText("order_id");
});

test(
  "a description is written with a preview and saved with Ctrl+Enter, beside what ingestion said",
  WRITES,
  async ({ page, docent }) => {
    const urn = await made(docent, "story_describe");
    await page.goto(address(urn));
    await expect(page.getByText("What ingestion said.")).toBeVisible();
    await page.keyboard.press("e");
    const editor = page.getByRole("textbox", { name: "Text of the description, in Markdown" });
    await expect(editor).toBeFocused();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("One row for each **reader**.");
    await expect(page.getByRole("region", { name: "Preview" }).locator("strong")).toHaveText("reader");
    await page.keyboard.press("Control+Enter");
    await expect(page.getByRole("button", { name: "Edit the description", exact: true })).toBeVisible();
    await expect(page.getByText("One row for each reader.")).toBeVisible();
    await expect(page.getByText(/Written by people · DataHub/)).toBeVisible();
    await expect(page.getByText("What ingestion said.")).toBeVisible();
    await expect(page.getByText(/From ingestion · /)).toBeVisible();
    expect(await described(docent, urn)).toBe("One row for each **reader**.");
  },
);

test(
  "a change made meanwhile by somebody else is shown and never overwritten by accident",
  WRITES,
  async ({ page, docent }) => {
    const urn = await made(docent, "story_conflict");
    await describe(docent, urn, "The first text.");
    await page.goto(address(urn));
    await page.getByRole("button", { name: "Edit the description", exact: true }).click();
    const editor = page.getByRole("textbox", { name: "Text of the description, in Markdown" });
    await expect(editor).toBeFocused();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("My own text.");
    await describe(docent, urn, "Their text.");
    await page.getByRole("button", { name: "Save" }).click();
    const conflict = page.getByRole("alert");
    await expect(conflict).toContainText("Somebody else changed the description meanwhile");
    await expect(conflict).toContainText("Their text.");
    await expect(conflict).toContainText("My own text.");
    expect(await described(docent, urn)).toBe("Their text.");

    await conflict.getByRole("button", { name: "Go on editing mine" }).click();
    // A plain field stays one for who began to type before the editor was there, and its text is no part of the page.
    const text = () =>
      editor.evaluate((field) => (field instanceof HTMLTextAreaElement ? field.value : field.textContent));
    await expect.poll(text).toContain("My own text.");
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page.getByRole("button", { name: "Edit the description", exact: true })).toBeVisible();
    await expect(page.getByText("My own text.")).toBeVisible();
    expect(await described(docent, urn)).toBe("My own text.");
  },
);

test("text that is not saved is not lost by a click", WRITES, async ({ page, docent }) => {
  const urn = await made(docent, "story_unsaved");
  await page.goto(address(urn));
  await page.getByRole("button", { name: "Edit the description", exact: true }).click();
  await expect(page.getByRole("textbox", { name: "Text of the description, in Markdown" })).toBeFocused();
  await page.keyboard.type("half a sentence");
  const questions: string[] = [];
  page.once("dialog", (dialog) => {
    questions.push(dialog.message());
    void dialog.dismiss();
  });
  await page.getByRole("link", { name: "Domains" }).click();
  expect(questions).toEqual(["The text is not saved. Throw it away?"]);
  await expect(page.getByText("half a sentence").first()).toBeVisible();
  page.once("dialog", (dialog) => void dialog.accept());
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Domains" }).click();
  await expect(page.getByRole("heading", { name: "Domains" })).toBeVisible();
});

test("links are added, edited, removed and brought back", WRITES, async ({ page, docent }) => {
  const urn = await made(docent, "story_links");
  await page.goto(address(urn));
  const links = page.getByRole("region", { name: "Links" });
  await expect(links).toContainText("No links yet.");
  await links.getByRole("button", { name: "Add a link" }).click();
  const field = links.getByLabel("Address");
  await links.getByRole("button", { name: "Save" }).click();
  await expect(links.getByRole("alert")).toHaveText(["Enter an address.", "Enter what the link leads to."]);
  await expect(field).toBeFocused();
  await links.getByLabel("Label").fill("Bad");
  for (const [wrong, said] of [
    ["javascript:alert(1)", /Begin the address with https/],
    ["wiki.example.org/page", /Begin the address with https/],
    ["https://", /not complete/],
    ["mailto:nobody", /not complete/],
    ["https://example.org/a b", /no spaces/],
  ] as const) {
    await field.fill(wrong);
    await links.getByRole("button", { name: "Save" }).click();
    await expect(links.getByRole("alert").first()).toHaveText(said);
    await expect(field).toHaveAttribute("aria-invalid", "true");
  }
  await links.getByLabel("Address").fill("https://example.org/runbook");
  await links.getByLabel("Label").fill("Runbook");
  await links.getByRole("button", { name: "Save" }).click();
  await expect(links.getByRole("link", { name: "Runbook" })).toHaveAttribute("href", "https://example.org/runbook");
  await links.getByRole("button", { name: "Add a link" }).click();
  await field.fill("https://EXAMPLE.org/runbook");
  await links.getByLabel("Label").fill("The same again");
  await links.getByRole("button", { name: "Save" }).click();
  await expect(links.getByText("This address is in the list already, as “Runbook”.")).toBeVisible();
  page.once("dialog", (dialog) => void dialog.accept());
  await links.getByRole("button", { name: "Cancel" }).click();
  await links.getByRole("button", { name: "Edit the link Runbook" }).click();
  await links.getByLabel("Label").fill("On call");
  await links.getByRole("button", { name: "Save" }).click();
  await expect(links.getByRole("link", { name: "On call" })).toBeVisible();
  await links.getByRole("button", { name: "Remove the link On call" }).click();
  await expect(links.getByRole("link", { name: "On call" })).toBeHidden();
  await links.getByRole("button", { name: "Undo" }).click();
  await expect(links.getByRole("link", { name: "On call" })).toBeVisible();
  await page.reload();
  await expect(links.getByRole("link", { name: "On call" })).toBeVisible();
});

test("a dataset is opened whatever letters its name has", async ({ page, docent }) => {
  const urn = await made(docent, "bucket/story_letters #1? 50%25 &+=@");
  await page.goto("/search?query=story_letters");
  await page
    .getByRole("main")
    .getByRole("link", { name: /story_letters/ })
    .first()
    .click();
  await expect(page.getByText("What ingestion said.")).toBeVisible();
  await expect(page.locator("code.urn")).toHaveText(urn);
  await page.reload();
  await expect(page.locator("code.urn")).toHaveText(urn);
});

test("text that was begun on one dataset does not come along to another", async ({ page, docent }) => {
  const first = await made(docent, "story_first_of_two");
  await made(docent, "story_second_of_two");
  await page.goto(address(first));
  await expect(page.getByText("What ingestion said.")).toBeVisible();
  await page.keyboard.press("/");
  await page.keyboard.type("story_second_of_two");
  await page.getByRole("group", { name: "Datasets" }).getByRole("option").first().click();
  await expect(page.locator("code.urn")).toContainText("story_second_of_two");
  await page.getByRole("button", { name: "Edit the description", exact: true }).click();
  await page.keyboard.type("Only about the second");
  page.once("dialog", (dialog) => void dialog.accept());
  await page.goBack();
  await expect(page.locator("code.urn")).toHaveText(first);
  await expect(page.getByText("Only about the second")).toBeHidden();
  await expect(page.getByRole("button", { name: "Edit the description", exact: true })).toBeVisible();
});

test("the domain is picked from the tree by typing, and removed", WRITES, async ({ page, docent }) => {
  const urn = await made(docent, "story_domain");
  await page.goto(address(urn));
  await page.getByRole("button", { name: "Set a domain" }).click();
  const picker = page.getByRole("dialog", { name: "Choose a domain" });
  await expect(picker.getByRole("option", { name: "Finance" })).toBeVisible();
  await page.keyboard.type("refunds");
  await expect(picker.getByRole("option")).toHaveText(["Finance", "Payments", "Refunds and Disputes"]);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("link", { name: "Refunds and Disputes" })).toBeVisible();
  await page.getByRole("button", { name: "Edit the domain" }).click();
  await page.getByRole("button", { name: "Remove from the domain" }).click();
  await expect(page.getByRole("button", { name: "Set a domain" })).toBeVisible();
  await page.reload();
  await expect(page.getByRole("button", { name: "Set a domain" })).toBeVisible();
});

test("columns are described one after the other with Tab", WRITES, async ({ page, docent }) => {
  const urn = await made(docent, "story_columns");
  await page.goto(address(urn));
  await page.getByRole("row", { name: /^id/ }).hover();
  await page.getByRole("button", { name: "Add a description of the column id" }).click();
  await expect(page.getByLabel("Description of the column id")).toBeFocused();
  await page.keyboard.type("The number of the reader");
  await page.keyboard.press("Tab");
  await expect(page.getByLabel("Description of the column name")).toBeFocused();
  await page.keyboard.type("What to call them");
  await page.keyboard.press("Control+Enter");
  await expect(page.getByRole("row", { name: /^id/ })).toContainText("The number of the reader");
  await expect(page.getByRole("row", { name: /^name/ })).toContainText("What to call them");
  await saved(page);
  await page.reload();
  await expect(page.getByRole("row", { name: /^id/ })).toContainText("The number of the reader");
  await expect(page.getByRole("row", { name: /^name/ })).toContainText("What to call them");
  await expect(page.getByText("2 of 3 described")).toBeVisible();
});

test(
  "a column that somebody else described meanwhile keeps their text until one decides",
  WRITES,
  async ({ page, docent }) => {
    const urn = await made(docent, "story_column_conflict");
    await page.goto(address(urn));
    await page.getByRole("button", { name: "Add a description of the column city" }).click();
    await expect(page.getByLabel("Description of the column city")).toBeFocused();
    await page.keyboard.type("Mine");
    await docent.ask(
      `mutation ($urn: String!) { updateDescription(input: { resourceUrn: $urn, subResource: "city", subResourceType: DATASET_FIELD, description: "Theirs" }) }`,
      { urn },
    );
    await page.keyboard.press("Control+Enter");
    const conflict = page.getByRole("alert");
    await expect(conflict).toContainText("Theirs");
    await expect(conflict).toContainText("Mine");
    await conflict.getByRole("button", { name: "Save mine instead" }).click();
    await expect(conflict).toBeHidden();
    await expect(page.getByRole("row", { name: /^city/ })).toContainText("Mine");
    await saved(page);
    await page.reload();
    await expect(page.getByRole("row", { name: /^city/ })).toContainText("Mine");
  },
);

test("nested fields stand below the field that they are part of, and can be folded away and filtered", async ({
  page,
  docent,
}) => {
  const nested = [
    "[version=2.0].[type=struct].[type=string].reader",
    "[version=2.0].[type=struct].[type=struct].address",
    "[version=2.0].[type=struct].[type=struct].address.[type=string].city",
    "[version=2.0].[type=struct].[type=struct].address.[type=string].street",
    ...Array.from({ length: 8 }, (_, number) => `[version=2.0].[type=struct].[type=string].other_${number}`),
  ];
  const urn = await made(docent, "story_nested", nested);
  await page.goto(address(urn));
  const table = page.getByRole("table", { name: "Columns" });
  await expect(table.getByRole("rowheader", { name: "city" })).toBeVisible();
  await page.getByRole("button", { name: "Hide the fields of address" }).click();
  await expect(table.getByRole("rowheader", { name: "city" })).toBeHidden();
  await page.getByLabel("Filter columns").fill("street");
  await expect(table.getByRole("rowheader")).toHaveText([/address/, /street/]);
  await expect(page.getByText("2 of 12 columns")).toBeVisible();
});
