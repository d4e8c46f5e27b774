import { newUser } from "./accounts.ts";
import { createDataset } from "./datasets.ts";
import { WRITES, datasetUrn, expect, test } from "./fixtures.ts";

test(
  "a tag is created, colored, renamed, described and deleted",
  WRITES,
  async ({ page, docent }) => {
    const dialog = page.getByRole("dialog");
    const certified = await docent.graphql<{ searchAcrossEntities: { total: number } }>(
      `{ searchAcrossEntities(input: {query: "*", orFilters: [{and: [{field: "tags", values: ["urn:li:tag:certified"]}]}]}) { total } }`,
    );
    await page.goto("/tags");
    await page.getByLabel("Search tags").fill("certified");
    await expect(
      page
        .getByRole("row", { name: /^Certified/ })
        .locator("td.number")
        .first(),
    ).toHaveText(String(certified.searchAcrossEntities.total));
    await page.getByLabel("Search tags").fill("erasure");
    await expect(page.getByRole("row", { name: /^Certified/ })).toHaveCount(0);
    await expect(page).toHaveURL(/query=erasure/);
    await page.getByRole("button", { name: "New tag" }).click();
    await dialog.getByLabel("Name").fill("Story Gold");
    await dialog.getByLabel("Color").click();
    // The choice starts with the accent color of the page.
    await expect(dialog.getByLabel("Color")).toHaveValue("#0b6b62");
    await dialog.getByLabel("Color").fill("#aa8800");
    await dialog.getByRole("button", { name: "Create" }).click();
    const heading = page.getByRole("heading", { level: 1 });
    await expect(heading).toHaveText("Story Gold");
    await expect(page.locator("header .tag-dot")).toHaveCSS("background-color", "rgb(170, 136, 0)");
    const urn = decodeURIComponent(new URL(page.url()).pathname.split("/")[2] ?? "");

    const edit = async () => {
      await page.getByRole("button", { name: /^Actions for/ }).click();
      await page.getByRole("menuitem", { name: "Edit name and color…" }).click();
    };
    await edit();
    await dialog.getByLabel("Name").fill("Story Silver");
    await dialog.getByLabel("Color").fill("#999999");
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(heading).toHaveText("Story Silver");
    await page.getByRole("button", { name: "Undo" }).click();
    await expect(heading).toHaveText("Story Gold");
    await expect(page.locator("header .tag-dot")).toHaveCSS("background-color", "rgb(170, 136, 0)");

    await page.getByRole("button", { name: "Add description" }).click();
    await expect(page.getByRole("textbox", { name: "Description (Markdown)" })).toBeFocused();
    await page.keyboard.type("The best tables.");
    await page.keyboard.press("Control+Enter");
    // The editor and its preview show the text until it is saved.
    await expect(page.getByRole("textbox", { name: "Description (Markdown)" })).toBeHidden();
    await expect(page.getByText("The best tables.")).toBeVisible();

    const dataset = await createDataset(docent, "story_gold");
    await docent.graphql(`mutation ($input: TagAssociationInput!) { addTag(input: $input) }`, {
      input: { tagUrn: urn, resourceUrn: dataset },
    });
    await page.getByRole("button", { name: /^Actions for/ }).click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    await expect(dialog).toContainText("It will be removed from 1 entity.");
    await expect(dialog.getByRole("link", { name: "story_gold" })).toBeVisible();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(page).toHaveURL(/\/tags$/);
    await expect(page.getByRole("row", { name: /^Story/ })).toHaveCount(0);
  },
);

test(
  "people are listed with what they own, and a group is made, joined, left and deleted",
  WRITES,
  async ({ page, docent }) => {
    const dialog = page.getByRole("dialog");
    await page.goto("/people");
    await page.getByLabel("Search users").fill("shop developer");
    await page.getByRole("link", { name: "Shop Developer" }).click();
    const kinds = page.getByRole("list", { name: "What they own, by kind" });
    await kinds.getByRole("link", { name: /^Datasets/ }).click();
    await expect(page.getByRole("button", { name: "Remove filter Shop Developer" })).toBeVisible();

    await page.goto("/groups");
    await expect(page.getByRole("row", { name: /Shop Team/ })).toBeVisible();
    await page.getByRole("button", { name: "New group" }).click();
    await dialog.getByLabel("Name").fill("Story Crew");
    await dialog.getByRole("button", { name: "Create" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Story Crew");
    const members = page.getByRole("region", { name: /members?$/ });
    await members.getByRole("button", { name: "Join" }).click();
    await expect(members.getByRole("heading")).toHaveText("1 member");
    await members.getByRole("button", { name: "Leave" }).click();
    await expect(members).toContainText("No members yet");
    await members.getByRole("button", { name: "Add member" }).click();
    await dialog.getByRole("combobox", { name: "Search users" }).fill("accountant");
    await dialog.getByRole("option", { name: /^Accountant/ }).click();
    await expect(members.getByRole("link", { name: "Accountant" })).toBeVisible();

    // More members than one page of them.
    const group = decodeURIComponent(new URL(page.url()).pathname.split("/")[2] ?? "");
    const crew = Array.from({ length: 55 }, (_, number) => `urn:li:corpuser:story-crew-${number}`);
    for (const [number, user] of crew.entries())
      await docent.ingest(user, "corpUserInfo", { active: true, displayName: `Crew ${number}` });
    await docent.graphql(
      `mutation ($input: AddGroupMembersInput!) { addGroupMembers(input: $input) }`,
      { input: { groupUrn: group, userUrns: crew } },
    );
    // What a deletion affects is said wherever a group can be deleted.
    await docent.graphql(
      `mutation ($group: String!) { batchAssignRole(input: { roleUrn: "urn:li:dataHubRole:Reader", actors: [$group] }) }`,
      { group },
    );
    await page.reload();
    await expect(members).toContainText("50 of 56 people are shown.");
    await members.getByRole("button", { name: "Show more" }).click();
    await expect(members.getByRole("listitem")).toHaveCount(56);

    await page.getByRole("button", { name: "Actions for Story Crew" }).click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    await expect(dialog).toContainText("56 members leave it");
    await expect(dialog).toContainText("It has the role Reader.");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(page).toHaveURL(/\/groups$/);
    await expect(page.getByRole("link", { name: "Story Crew" })).toHaveCount(0);
  },
);

test(
  "what is in no folder of a platform has a bucket of its own",
  WRITES,
  async ({ page, docent }) => {
    await createDataset(docent, "story_no_folder");
    await page.goto("/platform/urn:li:dataPlatform:hive");
    const folders = page.getByRole("region", { name: "Databases, schemas and folders" });
    await folders.getByRole("link", { name: "Not in a folder" }).click();
    await expect(page).toHaveURL(/Default/);
    await page.goto(`${page.url()}&query=story_no_folder`);
    await expect(page.locator("a[data-result]")).toHaveText("story_no_folder");
  },
);

test(
  "platforms lead to their containers, and dashboards, charts and tasks to their data",
  WRITES,
  async ({ page, docent }) => {
    await page.goto("/browse");
    await expect(page).toHaveURL(/\/platforms$/);
    await page.getByRole("button", { name: "Expand Snowflake" }).click();
    await page.getByRole("button", { name: "Expand analytics" }).click();
    await page.getByRole("link", { name: "finance", exact: true }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("finance");
    await page.goto("/platform/urn:li:dataPlatform:kafka");
    const folders = page.getByRole("region", { name: "Databases, schemas and folders" });
    await folders.getByRole("link", { name: "web", exact: true }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("3 results");

    const stamp = { time: 1, actor: "urn:li:corpuser:datahub" };
    const lastModified = { created: stamp, lastModified: stamp };
    const orders = datasetUrn("postgres", "shop.public.orders");
    const chart = "urn:li:chart:(looker,browse_orders)";
    const dashboard = "urn:li:dashboard:(looker,browse_sales)";
    const flow = "urn:li:dataFlow:(airflow,browse_nightly,prod)";
    const task = `urn:li:dataJob:(${flow},load)`;
    await docent.ingest(chart, "chartInfo", {
      title: "Browse orders",
      description: "",
      inputs: [{ string: orders }],
      lastModified,
    });
    await docent.ingest(dashboard, "dashboardInfo", {
      title: "Browse sales",
      description: "",
      charts: [chart],
      lastModified,
    });
    await docent.ingest(flow, "dataFlowInfo", { name: "Browse nightly" });
    await docent.ingest(task, "dataJobInfo", { name: "Browse load", type: { string: "SQL" } });
    await docent.ingest(task, "dataJobInputOutput", {
      inputDatasets: [orders],
      outputDatasets: [datasetUrn("postgres", "shop.public.books")],
    });
    const section = (name: string) => page.getByRole("region", { name });
    await page.goto(`/dashboard/${dashboard}`);
    await expect(section("Datasets it reads").getByRole("link")).toHaveText("orders");
    await section("Charts").getByRole("link", { name: "Browse orders" }).click();
    await expect(section("Dashboards with it").getByRole("link")).toHaveText("Browse sales");
    await expect(section("Inputs").getByRole("listitem")).toContainText(
      "PostgreSQL › shop › public",
    );
    await page.goto(`/pipelines/${flow}`);
    await section("Tasks").getByRole("link", { name: "Browse load" }).click();
    await expect(section("Inputs").getByRole("link")).toHaveText("orders");
    await expect(section("Outputs").getByRole("link")).toHaveText("books");

    // The search box finds them, too, and tells where they are.
    await page.getByRole("combobox", { name: "Search the catalog" }).fill("browse load");
    await expect(page.getByRole("group", { name: "Tasks" }).getByRole("option")).toContainText(
      "Browse nightly",
    );
  },
);

test(
  "a data product is created in a domain, filled, emptied and deleted",
  WRITES,
  async ({ page, docent }) => {
    await createDataset(docent, "story_offer");
    const dialog = page.getByRole("dialog");
    const menu = async (item: string) => {
      await page.getByRole("button", { name: "Actions for Story Offers" }).click();
      await page.getByRole("menuitem", { name: item }).click();
    };
    await page.goto("/dataProducts");
    await page.getByRole("button", { name: "New data product" }).click();
    await dialog.getByLabel("Name").fill("Story Offers");
    await dialog.getByRole("button", { name: "Create" }).click();
    await expect(dialog.getByText("Choose a domain.", { exact: true })).toBeVisible();
    await dialog.getByLabel("Domain").selectOption({ label: "Finance" });
    await dialog.getByRole("button", { name: "Create" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Story Offers");
    const assets = page.getByRole("region", { name: "Assets" });
    await expect(assets).toContainText("Nothing yet");
    await menu("Add asset");
    await dialog.getByRole("combobox").fill("story_offer");
    await dialog.getByRole("option", { name: /^story_offer/ }).click();
    await expect(assets.getByRole("link", { name: "story_offer" })).toBeVisible();
    await menu("Remove assets…");
    await dialog.getByRole("option", { name: /^story_offer/ }).click();
    await expect(assets).toContainText("Nothing yet");
    await page.getByRole("button", { name: "Undo" }).click();
    await expect(assets.getByRole("link", { name: "story_offer" })).toBeVisible();
    await menu("Delete…");
    await expect(dialog).toContainText("1 asset will no longer be in it.");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(page).toHaveURL(/\/dataProducts$/);
    await expect(page.getByRole("link", { name: "Story Offers" })).toHaveCount(0);
  },
);

test(
  "a Proposer is not told that a tag was added when it is only proposed",
  WRITES,
  async ({ browser, docent }) => {
    const urn = await createDataset(docent, "story_proposed_tag");
    const proposer = await newUser(browser, docent, "Perry", "Proposer");
    const page = await proposer.newPage();
    await page.goto(`/dataset/${urn}`);
    const tags = page.getByRole("region", { name: "Tags" });
    await tags.getByRole("button", { name: "Propose tag" }).click();
    // Without a text, the list has only some of the tags.
    await page.getByRole("dialog").getByRole("combobox").fill("Legacy");
    await page.getByRole("option", { name: "Legacy" }).click();
    await expect(page.getByRole("link", { name: "1 proposed change" })).toBeVisible();
    await expect(page.getByRole("dialog")).toBeHidden();
    await expect(tags).not.toContainText("added");
    await expect(tags.getByRole("button", { name: "Undo" })).toHaveCount(0);
    await proposer.close();
  },
);

test(
  "documenting the undocumented columns one by one keeps the focus, and a search finds one of many",
  WRITES,
  async ({ page, docent }) => {
    const columns = Array.from({ length: 300 }, (_, number) => `col_${number}`);
    const urn = await createDataset(docent, "story_wide_columns", columns);
    await page.goto(`/dataset/${urn}`);
    await page.getByLabel("Undocumented only").check();
    await page
      .getByRole("button", { name: "Add description for column col_0", exact: true })
      .click();
    await page.keyboard.type("The first");
    await page.keyboard.press("Control+Enter");
    const edit = page.getByRole("button", {
      name: "Edit description for column col_0",
      exact: true,
    });
    await expect(edit).toBeFocused();
    await page.getByLabel("Undocumented only").uncheck();
    await page.getByLabel("Undocumented only").check();
    await expect(edit).toHaveCount(0);

    await page.goto("/search?query=col_250");
    const result = page.getByRole("article").filter({ hasText: "story_wide_columns" });
    await expect(
      result.getByRole("list", { name: "Matching columns" }).getByRole("listitem").first(),
    ).toHaveText("col_250");
  },
);
