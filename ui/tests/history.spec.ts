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
  await expect(page.getByRole("heading", { name: "Column user_id" })).toBeVisible();
  const written = page.getByRole("region", { name: "Description, written by people" });
  await written.getByRole("button", { name: /Restore/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Restore" }).click();
  await expect(written.getByRole("listitem").first()).toContainText("current");
  await expect(written.getByRole("listitem")).toHaveCount(3);
});
