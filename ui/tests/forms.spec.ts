// Forms: what a dataset is asked for, and how administrators define and assign forms.

import { newUser } from "./accounts.ts";
import { expectAccessible } from "./axe.ts";
import { address, createDataset } from "./datasets.ts";
import { WRITES, datasetUrn, expect, test, type Docent } from "./fixtures.ts";

const REVIEW = "Yearly data review";
const ORDERS = datasetUrn("postgres", "shop.public.orders");
const REVENUE = datasetUrn("snowflake", "analytics.finance.revenue_daily");

/** Creates a form that everybody in `users` answers, and assigns it. */
async function createForm(
  docent: Docent,
  input: Readonly<Record<string, unknown>>,
  assets: readonly string[],
): Promise<string> {
  const { createForm } = await docent.graphql<{ createForm: { urn: string } }>(
    `mutation ($input: CreateFormInput!) { createForm(input: $input) { urn } }`,
    { input },
  );
  await docent.graphql(
    `mutation ($input: BatchAssignFormInput!) { batchAssignForm(input: $input) }`,
    { input: { formUrn: createForm.urn, entityUrns: assets } },
  );
  return createForm.urn;
}

const ask = (id: string, title: string, property: string, more = {}) => ({
  id,
  title,
  type: "STRUCTURED_PROPERTY",
  structuredPropertyParams: { urn: `urn:li:structuredProperty:lanternfold.${property}` },
  required: true,
  ...more,
});

test("a dataset shows its forms with what is answered and what is missing", async ({ page }) => {
  await page.goto(`/dataset/${ORDERS}`);
  const rail = page.getByRole("complementary");
  await expect(rail.getByRole("region", { name: "Forms" })).toContainText(
    "Incomplete, 1 of 4 prompts answered",
  );
  await page.getByRole("link", { name: "Forms 1" }).click();
  const form = page.getByRole("region", { name: REVIEW });
  await expect(form).toContainText("Before the auditors come in January");
  const prompt = (title: string) => form.getByRole("listitem").filter({ hasText: title });
  await expect(prompt("How sensitive is the data?")).toContainText("Restricted");
  await expect(prompt("How sensitive is the data?")).toContainText("Answered");
  await expect(prompt("After how many days")).toContainText("Not answered");
  await expect(prompt("Whom to call")).toContainText("Has a value, not confirmed");
  await expect(prompt("Which columns")).toContainText(/0 of \d+ columns answered/);
  await expect(form).toContainText("It can be verified when all required prompts are answered.");

  await page.goto(`/dataset/${REVENUE}/Forms`);
  await expect(form.getByText("Verified", { exact: true })).toBeVisible();
  await expect(form).toContainText(/Verified .* by /);
  // A dataset without forms has no tab, and says so at the address of the tab.
  await page.goto(`/dataset/${datasetUrn("hive", "weblogs.page_views")}`);
  await expect(page.getByRole("link", { name: /^Properties/ })).toBeVisible();
  await expect(page.getByRole("link", { name: /^Forms/ })).toHaveCount(0);
  await page.goto(`/dataset/${datasetUrn("hive", "weblogs.page_views")}/Forms`);
  await expect(page.getByText("No forms", { exact: true })).toBeVisible();
});

test(
  "prompts are answered for the dataset and its columns, and the form is verified",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_forms");
    await docent.graphql(
      `mutation ($input: UpsertStructuredPropertiesInput!) { upsertStructuredProperties(input: $input) { properties { associatedUrn } } }`,
      {
        input: {
          assetUrn: urn,
          structuredPropertyInputParams: [
            {
              structuredPropertyUrn: "urn:li:structuredProperty:lanternfold.refresh",
              values: [{ stringValue: "Daily" }],
            },
          ],
        },
      },
    );
    await createForm(
      docent,
      {
        name: "Story review",
        type: "VERIFICATION",
        prompts: [
          ask("story.days", "How long is it kept?", "retention"),
          ask("story.refresh", "How fresh is it?", "refresh"),
          ask("story.columns", "What is personal?", "personal-data", {
            type: "FIELDS_STRUCTURED_PROPERTY",
          }),
        ],
        actors: { owners: false, users: ["urn:li:corpuser:datahub"] },
      },
      [urn],
    );
    await page.goto(`${address(urn)}/Forms`);
    const form = page.getByRole("region", { name: "Story review" });
    const dialog = page.getByRole("dialog");
    await form.getByRole("button", { name: "Answer “How long is it kept?”" }).click();
    await expect(dialog.getByRole("heading")).toHaveText("How long is it kept?");
    await dialog.getByLabel("Value").fill("soon");
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(dialog.getByRole("alert")).toContainText("soon");
    await dialog.getByLabel("Value").fill("30");
    await expectAccessible(page, "answering a prompt");
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(dialog).toBeHidden();
    await expect(form.getByRole("status")).toHaveText("“How long is it kept?” is answered.");
    await expect(form).toContainText("1 of 3 prompts answered");

    // A value that is there already needs only a confirmation.
    await form.getByRole("button", { name: "Confirm the present value of “How fresh" }).click();
    await expect(form).toContainText("2 of 3 prompts answered");
    await expect(form.getByRole("button", { name: /^Verify/ })).toHaveCount(0);

    // All columns get one answer, and one of them another.
    await form.getByRole("button", { name: "Show columns" }).click();
    await form.getByRole("button", { name: "Select all without an answer" }).click();
    await form.getByRole("button", { name: /^Answer for \d+ columns/ }).click();
    await dialog.getByLabel("None").check();
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(dialog).toBeHidden();
    await expect(form).toContainText("3 of 3 prompts answered");
    await form.getByLabel("Select column city").check();
    await form.getByRole("button", { name: "Answer for 1 column" }).click();
    await expect(dialog.getByLabel("None")).toBeChecked();
    await dialog.getByLabel("Direct").check();
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(form.getByRole("row").filter({ hasText: "city" })).toContainText("Direct");
    await expectAccessible(page, "answered columns");

    await form.getByRole("button", { name: "Verify “Story review”" }).click();
    await expect(form).toContainText(/Verified .* by /);
    await expect(form.getByText("Verified", { exact: true })).toBeVisible();
    await expect(page.getByRole("link", { name: "Forms", exact: true })).toBeVisible();
  },
);

test(
  "who is not an assignee reads the form without buttons",
  WRITES,
  async ({ browser, docent }) => {
    const context = await newUser(browser, docent, "Form", "Reader");
    const page = await context.newPage();
    await page.goto(`/dataset/${ORDERS}/Forms`);
    const form = page.getByRole("region", { name: REVIEW });
    await expect(form).toContainText("Answers come from: owners");
    await expect(form.getByRole("button", { name: /^(Answer|Change|Confirm|Verify)/ })).toHaveCount(
      0,
    );
    await page.goto("/settings/forms");
    await expect(page.getByText("You don't have the privilege for this page.")).toBeVisible();
    await expect(page.getByRole("link", { name: "Forms", exact: true })).toHaveCount(0);
    await context.close();
  },
);

test("forms are listed with how many datasets have them and are complete", async ({ page }) => {
  await page.goto("/settings/forms");
  const row = page.getByRole("row").filter({ hasText: REVIEW });
  await expect(row).toContainText("Verification");
  await expect(row).toContainText("2 of 4");
  await expect(row).toContainText("1 verified");
  await page.getByLabel("Find forms").fill("xyzzyplugh");
  await expect(page.getByText("No forms match “xyzzyplugh”")).toBeVisible();
  await page.getByLabel("Find forms").fill("review");
  await row.getByRole("link").click();
  await expect(page.getByRole("heading", { level: 3, name: REVIEW })).toBeVisible();
  await expect(page.getByRole("main")).toContainText("owners, ");
  const dataset = (name: string) => page.getByRole("row").filter({ hasText: name });
  await expect(dataset("orders")).toContainText("Incomplete");
  await expect(dataset("orders")).toContainText("1 of 4");
  await expect(dataset("revenue_daily")).toContainText("Verified");
  await page.getByLabel("State").selectOption("Complete (2)");
  await expect(dataset("orders")).toHaveCount(0);
  await dataset("payment_reconciliation").getByRole("link").first().click();
  await expect(page).toHaveURL(/payment_reconciliation.*\/Forms$/);
  await page.goto("/settings/forms?form=urn:li:form:none");
  await expect(page.getByText("This form does not exist.")).toBeVisible();
});

test(
  "a form is created, changed, assigned, removed and deleted",
  WRITES,
  async ({ page, docent }) => {
    await createDataset(docent, "story_form_target");
    await page.goto("/settings/forms");
    await page.getByRole("button", { name: "New form" }).click();
    const dialog = page.getByRole("dialog").first();
    const create = dialog.getByRole("button", { name: "Create" });
    await create.click();
    await expect(dialog.getByText("Enter a name.")).toBeVisible();
    await dialog.getByLabel("Name", { exact: true }).fill("Story form");
    await create.click();
    await expect(dialog.getByText("Enter the text of prompt 1.")).toBeVisible();
    await expect(dialog.getByLabel("Prompt 1", { exact: true }).last()).toBeFocused();
    await dialog.getByLabel("Prompt 1", { exact: true }).last().fill("How fresh?");
    await create.click();
    await expect(dialog.getByText("Choose the property of prompt 1.")).toBeVisible();
    await expect(dialog.getByLabel("Property of prompt 1")).toBeFocused();
    await dialog.getByLabel("Property of prompt 1").selectOption("Refresh");
    await dialog.getByLabel("Owners of the dataset").uncheck();
    await create.click();
    await expect(dialog.getByText("Choose who answers")).toBeInViewport();
    await expect(dialog.getByLabel("Owners of the dataset")).toBeFocused();
    await dialog.getByLabel("Owners of the dataset").check();
    await dialog.getByLabel(/^Verification/).check();
    await expectAccessible(page, "new form");
    await create.click();
    await expect(page.getByRole("heading", { level: 3, name: "Story form" })).toBeVisible();
    await expect(page.getByRole("row").filter({ hasText: "How fresh?" })).toContainText("Refresh");
    await expect(page.getByText("No datasets have this form")).toBeVisible();

    await page.getByRole("button", { name: "Edit the form Story form" }).click();
    await dialog.getByLabel("Name", { exact: true }).fill("Story form 2");
    await expect(dialog.getByText("Asks for Refresh · The dataset")).toBeVisible();
    await dialog.getByRole("button", { name: "Add prompt" }).click();
    await dialog.getByLabel("Prompt 2", { exact: true }).last().fill("Personal?");
    await dialog.getByLabel("Property of prompt 2").selectOption("Personal data");
    await expect(dialog.getByLabel("What prompt 2 is about")).toHaveValue(
      "FIELDS_STRUCTURED_PROPERTY",
    );
    await dialog.getByLabel("Prompt 2 is required").uncheck();
    await dialog.getByRole("button", { name: "Add user or group" }).click();
    await page.getByRole("combobox", { name: "Search users and groups" }).fill("data team");
    await page.getByRole("option").first().click();
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(page.getByRole("heading", { level: 3, name: "Story form 2" })).toBeVisible();
    await expect(page.getByRole("row").filter({ hasText: "Personal?" })).toContainText(
      "Each column",
    );

    await page.getByRole("button", { name: "Assign…" }).click();
    await dialog.getByRole("button", { name: "Assign", exact: true }).click();
    await expect(dialog.getByText("Choose at least one.")).toBeVisible();
    await dialog.getByRole("button", { name: "Add dataset" }).click();
    await page.getByRole("combobox").fill("story_form_target");
    await page.getByRole("option", { name: /story_form_target/ }).click();
    await expectAccessible(page, "assigning a form");
    await dialog.getByRole("button", { name: "Assign", exact: true }).click();
    await expect(page.getByText("The form is assigned to 1 dataset.")).toBeVisible();
    const target = page.getByRole("row").filter({ hasText: "story_form_target" });
    await expect(target).toContainText("Incomplete");

    await page.getByRole("button", { name: "Assign…" }).click();
    await dialog.getByLabel("all datasets of domains or platforms").check();
    await dialog.getByRole("button", { name: "Add domain" }).click();
    await page.getByRole("combobox").fill("Finance");
    await page
      .getByRole("option", { name: /^Finance/ })
      .first()
      .click();
    const matches = dialog.getByText(/\d+ datasets match now\./);
    await expect(matches).toBeVisible();
    const number = Number(/\d+/.exec((await matches.textContent()) ?? "")?.[0]);
    await dialog.getByRole("button", { name: "Assign", exact: true }).click();
    await expect(page.getByText(`The form is assigned to ${number} datasets.`)).toBeVisible();
    await expect(page.getByLabel("State")).toContainText(`All (${number + 1})`);

    await page.getByRole("button", { name: "Remove the form from story_form_target" }).click();
    await expect(target).toHaveCount(0);
    await expect(page.getByLabel("State")).toContainText(`All (${number})`);

    await page.getByRole("button", { name: "Delete the form Story form 2" }).click();
    await expect(dialog).toContainText(`${number} datasets have this form`);
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(page.getByRole("button", { name: "New form" })).toBeVisible();
    await expect(page.getByRole("row").filter({ hasText: "Story form" })).toHaveCount(0);
  },
);

test(
  "saving a form keeps what others changed meanwhile in its other prompts",
  WRITES,
  async ({ page, docent }) => {
    const urn = "urn:li:form:story-concurrent";
    const prompt = (id: string, title: string) => ask(id, title, "refresh");
    const send = (mutation: string, type: string, input: object) =>
      docent.graphql(`mutation ($input: ${type}!) { ${mutation}(input: $input) { urn } }`, {
        input,
      });
    await send("createForm", "CreateFormInput", {
      id: "story-concurrent",
      name: "Concurrent form",
      type: "COMPLETION",
      prompts: ["One", "Two", "Three"].map((title) => prompt(title.toLowerCase(), title)),
      actors: { owners: true },
    });
    await page.goto("/settings/forms");
    await page.getByRole("row").filter({ hasText: "Concurrent form" }).getByRole("link").click();
    await page.getByRole("button", { name: "Edit the form Concurrent form" }).click();
    const dialog = page.getByRole("dialog").first();
    await dialog.getByLabel("Prompt 1", { exact: true }).last().fill("One, mine");
    // Another administrator changes one prompt and removes another.
    await send("updateForm", "UpdateFormInput", {
      urn,
      promptsToAdd: [prompt("two", "Two, theirs")],
      promptsToRemove: ["three"],
    });
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(dialog).toBeHidden();
    const { form } = await docent.graphql<{
      form: { info: { prompts: readonly { title: string }[] } };
    }>(`query ($urn: String!) { form(urn: $urn) { info { prompts { title } } } }`, { urn });
    expect(form.info.prompts.map(({ title }) => title)).toEqual(["One, mine", "Two, theirs"]);
  },
);
