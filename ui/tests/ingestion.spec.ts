// Ingestion sources with their runs, and secrets, as administrators see them.

import { newUser } from "./accounts.ts";
import { expectAccessible } from "./axe.ts";
import { WRITES, expect, test } from "./fixtures.ts";

test(
  "a source is created, run, reported on, changed and deleted",
  WRITES,
  async ({ page, docent }) => {
    await page.goto("/settings/ingestion");
    await expect(page.getByText(/Docent .* does not run connectors itself/)).toBeVisible();
    await page.getByRole("button", { name: "New source" }).click();
    const dialog = page.getByRole("dialog");
    const create = dialog.getByRole("button", { name: "Create" });
    await create.click();
    await expect(dialog.getByText("Enter a name.")).toBeVisible();
    await dialog.getByLabel("Name", { exact: true }).fill("Story warehouse");
    await dialog.getByLabel("Type", { exact: true }).fill("snowflake");
    await create.click();
    await expect(dialog.getByText("The recipe is for “postgres”")).toBeVisible();
    await dialog.getByLabel("Type", { exact: true }).fill("postgres");
    await dialog.getByLabel("Schedule", { exact: true }).fill("every day");
    await create.click();
    await expect(dialog.getByRole("alert").filter({ hasText: "cron expression" })).toBeVisible();
    await dialog.getByLabel("Schedule", { exact: true }).fill("0 2 * * *");
    await dialog.getByLabel("Time zone").fill("Europe/Berlin");
    const recipe = dialog.getByRole("textbox", { name: "Recipe (YAML)" });
    await recipe.fill("source:\n  - a: [");
    await create.click();
    await expect(dialog.getByText("The recipe is not valid YAML")).toBeVisible();
    await recipe.fill(
      "source:\n  type: postgres\n  config:\n    password: ${STORY_PASSWORD}  # a secret\n",
    );
    await expectAccessible(page, "new source");
    await create.click();
    await expect(page.getByRole("heading", { level: 3, name: "Story warehouse" })).toBeVisible();
    await expect(page.getByText("No runs yet")).toBeVisible();
    await expect(page.getByText("Europe/Berlin")).toBeVisible();

    await page.getByRole("button", { name: "Run Story warehouse" }).click();
    await expect(page.getByText("A run of Story warehouse has been requested.")).toBeVisible();
    const run = page.getByRole("row").filter({ hasText: "Waits for an executor" });
    await expect(run).toBeVisible();
    await expectAccessible(page, "a source with a run");

    // What an executor would see and report.
    interface Requests {
      readonly listExecutionRequests: {
        readonly executionRequests: ReadonlyArray<{
          readonly urn: string;
          readonly input: {
            readonly arguments: ReadonlyArray<{ readonly key: string; readonly value: string }>;
          };
        }>;
      };
    }
    const { listExecutionRequests } = await docent.graphql<Requests>(
      `{ listExecutionRequests(input: { start: 0, count: 1 }) { executionRequests { urn input { arguments { key value } } } } }`,
    );
    const request = listExecutionRequests.executionRequests[0];
    const sent = request?.input.arguments.find(({ key }) => key === "recipe")?.value ?? "";
    expect(JSON.parse(sent)).toMatchObject({
      source: { type: "postgres", config: { password: "${STORY_PASSWORD}" } },
    });
    await docent.ingest(request?.urn ?? "", "dataHubExecutionRequestResult", {
      status: "FAILURE",
      startTimeMs: Date.now() - 90_000,
      durationMs: 61_000,
      report: "Connection refused: warehouse.example.com",
    });
    await page.getByRole("button", { name: "Refresh" }).click();
    const failed = page.getByRole("row").filter({ hasText: "Failed" });
    await expect(failed).toContainText("1 minute");
    await failed.getByRole("button", { name: /^Report/ }).click();
    await expect(dialog).toContainText("Connection refused: warehouse.example.com");
    await expectAccessible(page, "report of a run");
    await page.keyboard.press("Escape");

    await page.getByRole("button", { name: "Run Story warehouse" }).click();
    await run.getByRole("button", { name: /^Cancel/ }).click();
    await expect(page.getByRole("row").filter({ hasText: "Cancelled" })).toBeVisible();

    // The stored recipe stays unless it is edited.
    await page.getByRole("button", { name: "Edit Story warehouse" }).click();
    await expect(dialog.getByText("The stored recipe stays unless you edit it.")).toBeVisible();
    await dialog.getByLabel("Name", { exact: true }).fill("Story warehouse 2");
    await dialog.getByLabel("Schedule", { exact: true }).fill("");
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(page.getByRole("heading", { level: 3, name: "Story warehouse 2" })).toBeVisible();
    await expect(page.getByText("Not scheduled")).toBeVisible();
    await page.getByRole("button", { name: "Edit Story warehouse 2" }).click();
    await dialog.getByRole("button", { name: "Edit the recipe" }).click();
    await expect(recipe).toContainText("STORY_PASSWORD");
    await recipe.fill("source: {type: postgres, config: {database: unsaved}}");
    await dialog.getByRole("button", { name: "Keep the stored recipe" }).click();
    await dialog.getByRole("button", { name: "Edit the recipe" }).click();
    await expect(recipe).toContainText("STORY_PASSWORD");
    await recipe.fill("source: {type: postgres, config: {database: edited}}");
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(dialog).toBeHidden();
    await page.getByRole("button", { name: "Edit Story warehouse 2" }).click();
    await dialog.getByRole("button", { name: "Edit the recipe" }).click();
    await expect(recipe).toContainText("database: edited");
    await page.keyboard.press("Escape");
    await expect(dialog).toBeHidden();

    await page.getByRole("link", { name: "All sources" }).click();
    const row = page.getByRole("row").filter({ hasText: "Story warehouse 2" });
    await expect(row).toContainText("Cancelled");
    await row.getByRole("link").click();
    await page.getByRole("button", { name: "Delete Story warehouse 2" }).click();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(page.getByRole("button", { name: "New source" })).toBeVisible();
    await expect(row).toHaveCount(0);
  },
);

test("DataHub's addresses of ingestion work", async ({ page }) => {
  for (const path of ["/ingestion", "/ingestion/sources"]) {
    await page.goto(path);
    await expect(page.getByRole("heading", { level: 2 })).toHaveText("Ingestion");
  }
  await page.goto("/ingestion/secrets");
  await expect(page.getByRole("heading", { level: 2 })).toHaveText("Secrets");
});

test("secrets are named and described, and never shown", WRITES, async ({ page, docent }) => {
  await page.goto("/settings/secrets");
  await page.getByRole("button", { name: "New secret" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("not a name");
  await dialog.getByRole("button", { name: "Create" }).click();
  await expect(dialog.getByText("Use letters, digits and underscores only")).toBeVisible();
  await dialog.getByLabel("Name").fill("STORY_SECRET");
  await dialog.getByRole("button", { name: "Create" }).click();
  await expect(dialog.getByText("Enter the value.")).toBeVisible();
  await dialog.getByLabel("Value").fill("open sesame");
  await dialog.getByLabel("Description").fill("Of the story");
  await expectAccessible(page, "new secret");
  await dialog.getByRole("button", { name: "Create" }).click();
  const row = page.getByRole("row").filter({ hasText: "STORY_SECRET" });
  await expect(row).toContainText("Of the story");
  const valueOf = async () => {
    const reply = await docent.graphql<{
      getSecretValues: ReadonlyArray<{ readonly value: string }>;
    }>(`{ getSecretValues(input: { secrets: ["STORY_SECRET"] }) { value } }`);
    return reply.getSecretValues[0]?.value;
  };
  expect(await valueOf()).toBe("open sesame");

  await page.getByRole("button", { name: "Edit the secret STORY_SECRET" }).click();
  await expect(dialog.getByLabel("New value")).toHaveValue("");
  await dialog.getByLabel("New value").fill("open barley");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("STORY_SECRET is saved.")).toBeVisible();
  expect(await valueOf()).toBe("open barley");
  await expect(page.getByText("open barley")).toHaveCount(0);

  await page.getByRole("button", { name: "Delete the secret STORY_SECRET" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(row).toHaveCount(0);
});

test("others see no tabs for ingestion and secrets", WRITES, async ({ browser, docent }) => {
  const context = await newUser(browser, docent, "Ingestion", "Reader");
  const page = await context.newPage();
  for (const section of ["ingestion", "secrets"]) {
    await page.goto(`/settings/${section}`);
    await expect(page.getByText("You don't have the privilege for this page.")).toBeVisible();
  }
  await expect(page.getByRole("link", { name: /^(Ingestion|Secrets)$/ })).toHaveCount(0);
  await context.close();
});

test(
  "those who may not manage secrets do not see a recipe, and keep it unless they write one",
  WRITES,
  async ({ browser, docent }) => {
    const context = await newUser(browser, docent, "Ina", "Reader");
    await docent.graphql(`mutation ($input: PolicyUpdateInput!) { createPolicy(input: $input) }`, {
      input: {
        type: "PLATFORM",
        name: "Story ingestion",
        state: "ACTIVE",
        description: "",
        privileges: ["MANAGE_INGESTION"],
        actors: {
          users: ["urn:li:corpuser:ina@example.com"],
          allUsers: false,
          allGroups: false,
          resourceOwners: false,
        },
      },
    });
    const recipe = JSON.stringify({ source: { type: "postgres", config: { database: "kept" } } });
    const { createIngestionSource: urn } = await docent.graphql<{ createIngestionSource: string }>(
      `mutation ($input: UpdateIngestionSourceInput!) { createIngestionSource(input: $input) }`,
      {
        input: {
          name: "Hidden recipe",
          type: "postgres",
          config: { recipe, executorId: "default" },
        },
      },
    );
    const stored = async () => {
      const reply = await docent.graphql<{
        ingestionSource: { config: { recipe: string } };
      }>(`query ($urn: String!) { ingestionSource(urn: $urn) { config { recipe } } }`, { urn });
      return reply.ingestionSource.config.recipe;
    };
    const page = await context.newPage();
    await page.goto("/settings/ingestion");
    await page.getByRole("link", { name: "Hidden recipe" }).click();
    const dialog = page.getByRole("dialog");
    const edit = page.getByRole("button", { name: "Edit Hidden recipe" });
    await edit.click();
    await dialog.getByRole("button", { name: "Edit the recipe" }).click();
    await expect(dialog.getByText(/The stored recipe is not shown/)).toBeVisible();
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(dialog).toBeHidden();
    expect(await stored()).toBe(recipe);
    await edit.click();
    await dialog.getByRole("button", { name: "Edit the recipe" }).click();
    await dialog
      .getByRole("textbox", { name: "Recipe (YAML)" })
      .fill("source: {type: postgres, config: {database: new}}");
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(dialog).toBeHidden();
    expect(JSON.parse(await stored()).source.config.database).toBe("new");
    await context.close();
  },
);
