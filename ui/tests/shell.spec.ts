// The frame around every page, and the page of the API.

import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { newUser } from "./accounts.ts";
import { browse, expect, test, WRITES } from "./fixtures.ts";

test("the navigation lists what can be browsed, on wide screens and phones", async ({ page }) => {
  await page.goto("/");
  const navigation = page.getByRole("navigation", { name: "Main" });
  // The home page repeats the entries of the menu.
  const onHome = page.getByRole("navigation", { name: "Browse" }).getByRole("link");
  await expect(onHome.first()).toBeVisible();
  const entries = await onHome.allInnerTexts();
  await browse(page, "Domains");
  await expect(page.getByRole("heading", { level: 1, name: "Domains" })).toBeVisible();
  await navigation.getByRole("button", { name: "Browse" }).click();
  await expect(page.getByRole("menuitem")).toHaveText(entries);
  await expect(page.getByRole("menuitem", { name: "Domains" })).toHaveAttribute(
    "aria-current",
    "page",
  );
  await page.keyboard.press("Escape");
  await expect(navigation.getByRole("button", { name: "Browse" })).toBeFocused();

  await page.setViewportSize({ width: 390, height: 844 });
  await navigation.getByRole("button", { name: "Menu", exact: true }).click();
  await page.getByRole("menuitem", { name: "API" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "API" })).toBeVisible();
});

test("a reader sees no settings that only refuse them", WRITES, async ({ browser, docent }) => {
  const context = await newUser(browser, docent, "Sara", "Reader");
  const page = await context.newPage();
  await page.goto("/settings/tokens");
  const sections = page.getByRole("navigation", { name: "Settings sections" }).getByRole("link");
  // Readers may see the definitions, without a button to change them.
  const allowed = ["Access tokens", "Account", "Preferences", "Structured properties"];
  await expect(sections).toHaveText(allowed);
  await page.getByRole("button", { name: /Account menu for/ }).click();
  await expect(page.getByRole("menuitem", { name: "Account" })).toBeVisible();
  await expect(page.getByRole("menuitem", { name: "Audit log" })).toHaveCount(0);
  await context.close();
});

test("the common calls of the API page run as they are", WRITES, async ({ page, docent }) => {
  await page.goto("/graphiql");
  const textOf = (title: string) =>
    page.getByRole("region", { name: title, exact: true }).locator("pre").innerText();
  const found = await docent.graphql<{ searchAcrossEntities: { total: number } }>(
    await textOf("Search the catalog"),
  );
  expect(found.searchAcrossEntities.total).toBeGreaterThan(0);
  const read = await docent.graphql<{ dataset: { name: string } }>(await textOf("Read a dataset"));
  expect(read.dataset.name).not.toBe("");
  // The dataset is one of the sample catalog, so its description is put back.
  const update = await textOf("Update a description");
  const urn = JSON.parse(/resourceUrn: ("[^"]+")/.exec(update)?.[1] ?? "") as string;
  const editedDescription = async () =>
    (
      await docent.graphql<{
        dataset: { editableProperties: { description: string | null } | null };
      }>(`query ($urn: String!) { dataset(urn: $urn) { editableProperties { description } } }`, {
        urn,
      })
    ).dataset.editableProperties?.description ?? "";
  const before = await editedDescription();
  await docent.graphql(update);
  expect(await editedDescription()).toBe("Describe here what a row of this dataset is.");
  await docent.graphql(
    `mutation ($input: DescriptionUpdateInput!) { updateDescription(input: $input) }`,
    { input: { resourceUrn: urn, description: before } },
  );

  const { stdout } = await promisify(execFile)("sh", ["-c", await textOf("From a shell")], {
    env: { ...process.env, TOKEN: docent.token },
  });
  expect(JSON.parse(stdout)).toMatchObject({ data: found });

  await page.getByRole("button", { name: "Open below: Read a dataset" }).click();
  await expect(page.locator(".graphiql-query-editor")).toContainText("schemaMetadata");
});
