import { WRITES, datasetUrn, expect, test } from "./fixtures.ts";

test(
  "domains are created, nested, described, renamed, moved and deleted",
  WRITES,
  async ({ page, docent }) => {
    await page.goto("/domains");
    await page.getByRole("button", { name: "New domain" }).click();
    let dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Create" }).click();
    await expect(dialog.getByRole("alert")).toHaveText("Enter a name.");
    await dialog.getByLabel("Name").fill("Finance");
    await dialog.getByRole("button", { name: "Create" }).click();
    await expect(dialog.getByRole("alert")).toHaveText(
      "A domain named “Finance” already exists here.",
    );
    await dialog.getByLabel("Name").fill("Library");
    await dialog.getByLabel("Description").fill("Books and **readers**.");
    await dialog.getByRole("button", { name: "Create" }).click();
    await expect(dialog).toBeHidden();
    await expect(page.getByRole("link", { name: "Library" })).toBeVisible();

    await page.getByRole("button", { name: "Actions for Library" }).click();
    await page.getByRole("menuitem", { name: "New subdomain" }).click();
    dialog = page.getByRole("dialog", { name: "New subdomain of Library" });
    await dialog.getByLabel("Name").fill("Loans");
    await page.keyboard.press("Enter");
    await expect(page.getByRole("link", { name: "Loans" })).toBeVisible();

    await page.getByRole("button", { name: "Actions for Loans" }).click();
    await page.getByRole("menuitem", { name: "Rename…" }).click();
    dialog = page.getByRole("dialog", { name: "Rename Loans" });
    await expect(dialog).toContainText("Existing links keep working.");
    await dialog.getByLabel("Name").fill("Lending");
    await dialog.getByRole("button", { name: "Rename" }).click();
    await expect(page.getByRole("link", { name: "Lending" })).toBeVisible();

    await page.getByRole("button", { name: "Actions for Library" }).click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    dialog = page.getByRole("dialog", { name: "Delete Library?" });
    await expect(dialog).toContainText("This domain has 1 subdomain.");
    await expect(dialog.getByRole("button", { name: "Delete" })).toBeDisabled();
    await dialog.getByRole("button", { name: "Cancel" }).click();

    await page.getByRole("button", { name: "Actions for Lending" }).click();
    await page.getByRole("menuitem", { name: "Move…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Top level" }).click();
    dialog = page.getByRole("dialog", { name: "Move Lending" });
    await expect(dialog).toContainText("This domain has no subdomains or datasets.");
    await dialog.getByRole("button", { name: "Move" }).click();
    await expect(dialog).toBeHidden();

    await page.getByRole("link", { name: "Library" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Library");
    await expect(page.locator(".prose strong")).toHaveText("readers");
    await page.getByRole("button", { name: "Edit description" }).click();
    await expect(page.getByRole("textbox", { name: /^Description \(Markdown\)$/ })).toBeFocused();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("Books, readers and fines.");
    await page.keyboard.press("Control+Enter");
    await expect(page.getByRole("button", { name: "Edit description" })).toBeVisible();
    await expect(page.getByText("Books, readers and fines.")).toBeVisible();

    const read = await docent.graphql<{
      searchAcrossEntities: { searchResults: Array<{ entity: { urn: string } }> };
    }>(
      `{ searchAcrossEntities(input: { query: "Lending", types: [DOMAIN] }) { searchResults { entity { urn } } } }`,
    );
    const lending = read.searchAcrossEntities.searchResults[0]?.entity.urn ?? "";
    await docent.graphql(
      `mutation ($entity: String!, $domain: String!) { setDomain(entityUrn: $entity, domainUrn: $domain) }`,
      {
        entity: datasetUrn("hive", "fct_users_created"),
        domain: lending,
      },
    );
    await page.goto(`/domain/${lending}`);
    await expect(page.getByText("1 dataset, 1 including subdomains")).toBeVisible();
    await page.getByRole("button", { name: "Actions for Lending" }).click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    dialog = page.getByRole("dialog", { name: "Delete Lending?" });
    await expect(dialog).toContainText("1 dataset will be removed from this domain");
    await expect(dialog).toContainText("fct_users_created");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(page).toHaveURL(/\/domains$/);
    await expect(page.getByRole("link", { name: "Library" })).toBeVisible();
    await expect(page.getByRole("link", { name: "Lending" })).toBeHidden();
  },
);

test("a domain is moved by dragging it, after a confirmation", WRITES, async ({ page, docent }) => {
  await docent.graphql(
    `mutation { a: createDomain(input: { id: "drag-a", name: "Dragged" }) b: createDomain(input: { id: "drag-b", name: "Dropped on" }) }`,
  );
  await page.goto("/domains");
  const row = (name: string) =>
    page.getByRole("row").filter({ has: page.getByRole("link", { name, exact: true }) });
  await row("Dragged").dragTo(row("Dropped on"));
  const dialog = page.getByRole("dialog", { name: "Move Dragged" });
  await expect(dialog).toContainText("Move to: Dropped on");
  await dialog.getByRole("button", { name: "Move" }).click();
  await expect(dialog).toBeHidden();
  await page.getByRole("link", { name: "Dragged" }).click();
  await expect(page.locator(".breadcrumb")).toContainText("Dropped on");
});

test("a domain can't be moved into itself, and the picker says why", async ({ page }) => {
  await page.goto("/domains");
  await page.getByRole("button", { name: "Actions for Finance", exact: true }).click();
  await page.getByRole("menuitem", { name: "Move…" }).click();
  await page.getByRole("dialog").getByRole("combobox").fill("payments");
  await expect(
    page.getByText("Finance can't be moved into itself or one of its subdomains."),
  ).toBeVisible();
});

test("valid drop targets are highlighted while a domain is dragged", async ({ page, docent }) => {
  await docent.graphql(
    `mutation { a: createDomain(input: { id: "mark-a", name: "Drop target" }) b: createDomain(input: { id: "mark-b", name: "Carried", parentDomain: "urn:li:domain:finance" }) }`,
  );
  await page.goto("/domains");
  const row = (name: string) =>
    page.getByRole("row").filter({ has: page.getByRole("link", { name, exact: true }) });
  await row("Carried").hover();
  await page.mouse.down();
  await row("Drop target").hover();
  await row("Drop target").hover();
  await expect(row("Drop target")).toHaveClass(/drop-target/);
  await expect(
    page.getByRole("columnheader", { name: "Drop here to move to the top level" }),
  ).toBeVisible();
  await page.mouse.up();
  await expect(page.getByRole("dialog", { name: "Move Carried" })).toContainText(
    "Move to: Drop target",
  );
});

test("the tree counts datasets with and without subdomains and can be filtered", async ({
  page,
}) => {
  await page.goto("/domains");
  const finance = page
    .getByRole("row")
    .filter({ has: page.getByRole("link", { name: "Finance", exact: true }) });
  await expect(finance).toBeVisible();
  const [direct = "", recursive = ""] = await finance.getByRole("cell").allInnerTexts();
  expect(Number(recursive)).toBeGreaterThan(Number(direct));
  await page.getByRole("button", { name: "Collapse Finance" }).click();
  await expect(page.getByRole("link", { name: "Payments" })).toBeHidden();
  await page.getByLabel("Filter domains").fill("paym");
  await expect(page.getByRole("rowheader")).toHaveText([/Finance/, /Payments/]);
  await page.getByLabel("Filter domains").fill("nothing like that");
  await expect(page.getByText("No domains match “nothing like that”")).toBeVisible();
});

test("a domain shows its subdomains and its datasets, optionally including subdomains", async ({
  page,
}) => {
  await page.goto("/domain/urn:li:domain:finance");
  await expect(page).toHaveTitle("Finance · Docent");
  await expect(page.getByRole("region", { name: "Subdomains", exact: true })).toContainText(
    "Payments",
  );
  const rows = page.getByRole("region", { name: "Datasets" }).getByRole("row");
  await expect(rows.nth(1)).toBeVisible();
  const direct = await rows.count();
  await page.getByRole("checkbox", { name: "Including subdomains" }).check();
  await expect.poll(() => rows.count()).toBeGreaterThan(direct);
  await page.getByRole("link", { name: "Search in this domain" }).click();
  await expect(page.getByRole("article").first()).toBeVisible();
});

test(
  "a domain has owners, links and stewards beside it, and lists what is in it besides datasets",
  WRITES,
  async ({ page, docent }) => {
    const domain = "urn:li:domain:story-whole-domain";
    await docent.graphql(
      `mutation {
        createDomain(input: { id: "story-whole-domain", name: "Whole" })
        addDomainSteward(domainUrn: "${domain}", actorUrn: "urn:li:corpuser:datahub")
      }`,
    );
    await page.goto(`/domain/${domain}`);
    const others = page.getByRole("region", { name: "Also in this domain" });
    await expect(page.getByRole("heading", { name: "Datasets" })).toBeVisible();
    await expect(others).toBeHidden();

    const rail = page.getByRole("complementary", { name: "About this domain" });
    await rail.getByRole("button", { name: "Add owner" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Search users and groups").fill("datahub");
    await dialog.getByRole("option", { name: /^DataHub/ }).click();
    const owners = rail.getByRole("region", { name: "Owners" });
    await expect(owners.getByRole("link", { name: "DataHub" })).toBeVisible();
    const stewards = rail.getByRole("region", { name: "Stewards" });
    await expect(stewards.getByRole("link", { name: "DataHub" })).toHaveAttribute(
      "href",
      "/user/urn:li:corpuser:datahub",
    );

    await docent.graphql(
      `mutation { createDataProduct(input: { domainUrn: "${domain}",
        properties: { name: "Whole product" } }) { urn } }`,
    );
    await page.reload();
    await expect(others.getByRole("link", { name: "Whole product" })).toBeVisible();
  },
);
