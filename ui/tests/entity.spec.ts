import { newUser } from "./accounts.ts";
import { expectAccessible } from "./axe.ts";
import { createDataset } from "./datasets.ts";
import { WRITES, datasetUrn, expect, test } from "./fixtures.ts";

test("a tag, a term, a person, a group, a container and a platform have pages", async ({
  page,
}) => {
  const open = async (address: string, heading: string) => {
    await page.goto(address);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(heading);
    await expect(page).toHaveTitle(`${heading} · Docent`);
  };
  const members = page.getByRole("article").getByRole("article");

  await open("/tag/urn:li:tag:pii", "PII");
  await expect(page.getByText("Never copy it into a table that lacks this tag.")).toBeVisible();
  await expect(members.filter({ hasText: "newsletter_subscribers" })).toBeVisible();
  // Search within.
  await page.getByLabel("Search within").fill("customer_addresses");
  await expect(members.filter({ hasText: "newsletter_subscribers" })).toBeHidden();
  await expect(members.first()).toContainText("customer_addresses");

  await open("/glossaryTerm/urn:li:glossaryTerm:isbn", "ISBN");
  await expect(page.getByText("thirteen-digit International Standard Book Number")).toBeVisible();
  await page.locator("header .breadcrumb").getByRole("link", { name: "Commerce" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Commerce");
  await expect(members.filter({ hasText: "ISBN" })).toBeVisible();

  await open("/glossaryTerm/urn:li:glossaryTerm:isbn", "ISBN");
  await expect(page.getByText(/^Edited (just now|.+ ago)$/)).toBeVisible();

  await open("/user/urn:li:corpuser:shop-developer", "Shop Developer");
  await expect(members.filter({ hasText: "books" }).first()).toBeVisible();

  await open("/group/urn:li:corpGroup:shop-team", "Shop Team");
  await expect(page.getByRole("heading", { name: /members?$/ })).toBeVisible();

  await open("/platform/urn:li:dataPlatform:kafka", "Kafka");
  await expect(members.first()).toBeVisible();
});

test(
  "descriptions of dashboards, charts, pipelines and tasks are edited on their pages",
  WRITES,
  async ({ page, docent }) => {
    const dashboard = "urn:li:dashboard:(looker,story.described)";
    const audit = { time: 0, actor: "urn:li:corpuser:datahub" };
    await docent.ingest(dashboard, "dashboardInfo", {
      title: "Described",
      description: "Imported words.",
      lastModified: { created: audit, lastModified: audit },
      charts: [],
      datasets: [],
    });
    const flow = "urn:li:dataFlow:(airflow,story_described,prod)";
    const job = `urn:li:dataJob:(${flow},load)`;
    await docent.ingest(flow, "dataFlowInfo", { name: "Described flow", customProperties: {} });
    await docent.ingest(job, "dataJobInfo", {
      name: "Described task",
      type: { string: "SQL" },
      customProperties: {},
    });
    for (const address of [`/dashboard/${dashboard}`, `/pipelines/${flow}`, `/tasks/${job}`]) {
      await page.goto(address);
      const description = page.getByRole("region", { name: "Description" });
      await description.getByRole("button", { name: /Edit description|Add description/ }).click();
      await page.locator(".cm-content").fill("Edited words.");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await expect(description.getByText(/^Edited just now by /), address).toBeVisible();
      await expect(description.getByText("Edited words.")).toBeVisible();
    }
    await page.goto(`/dashboard/${dashboard}`);
    await expect(page.getByText("Imported words.")).toBeVisible();
  },
);

test("what a person writes about themselves is Markdown", async ({ page }) => {
  await page.goto("/user/urn:li:corpuser:analytics-lead");
  await expect(page.locator("main .prose strong").first()).toHaveText("Office hours:");
});

test("the owners of a tag are edited on its page", WRITES, async ({ page, docent }) => {
  await docent.ingest("urn:li:tag:story-owned", "tagProperties", { name: "Story owned" });
  await page.goto("/tag/urn:li:tag:story-owned");
  const owners = page.getByRole("region", { name: "Owners" });
  await owners.getByRole("button", { name: "Add owner" }).click();
  const dialog = page.getByRole("dialog");
  // The kind of ownership is a combobox, too.
  await dialog.getByRole("combobox", { name: "Search users and groups" }).fill("Privacy");
  await dialog.getByRole("option", { name: /Privacy Officer/ }).click();
  await expect(owners.getByRole("link", { name: "Privacy Officer", exact: true })).toBeVisible();
});

test("on a phone, the current tab of an entity is in view", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`/dataset/${datasetUrn("postgres", "shop.public.books")}?show=history`);
  const tab = page.getByRole("navigation", { name: "Dataset sections" }).getByRole("link", {
    name: "History",
  });
  await expect(tab).toBeInViewport({ ratio: 0.9 });
  expect(await page.evaluate(() => window.scrollY)).toBe(0);
});

test("links lead to the pages of owners, tags and containers", async ({ page }) => {
  await page.goto(`/dataset/${datasetUrn("postgres", "shop.public.books")}`);
  await page
    .getByRole("region", { name: "Owners" })
    .getByRole("link", { name: "Shop Developer", exact: true })
    .click();
  await expect(page).toHaveURL(/\/user\/urn:li:corpuser:/);
  await page.goBack();
  await page.getByRole("region", { name: "Tags" }).getByRole("link", { name: "Certified" }).click();
  await expect(page).toHaveURL(/\/tag\/urn:li:tag:certified$/);
  await page.goBack();
  await page.locator("header .breadcrumb").getByRole("link", { name: "public" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("public");
  await expect(page.getByRole("article").getByRole("article").first()).toBeVisible();
});

test(
  "addresses of DataHub work with their tabs, also of dashboards and tasks",
  WRITES,
  async ({ page, docent }) => {
    const dashboard = "urn:li:dashboard:(looker,story.sales)";
    await docent.ingest(dashboard, "dashboardInfo", {
      title: "Sales this week",
      description: "What was sold.",
      lastModified: {
        created: { time: 0, actor: "urn:li:corpuser:datahub" },
        lastModified: { time: 0, actor: "urn:li:corpuser:datahub" },
      },
      charts: [],
      datasets: [],
    });
    const flow = "urn:li:dataFlow:(airflow,story_nightly,prod)";
    const job = `urn:li:dataJob:(${flow},load)`;
    await docent.ingest(flow, "dataFlowInfo", { name: "Nightly", customProperties: {} });
    await docent.ingest(job, "dataJobInfo", {
      name: "Load orders",
      type: { string: "SQL" },
      customProperties: {},
    });
    const product = "urn:li:dataProduct:story-product";
    await docent.ingest(product, "dataProductProperties", { name: "Sales figures" });
    const urn = await createDataset(docent, "story_addresses");
    const encoded = (text: string) => encodeURIComponent(text);
    for (const [address, heading] of [
      [`/dashboard/${encoded(dashboard)}/Documentation`, "Sales this week"],
      [`/dashboard/${dashboard}`, "Sales this week"],
      [`/tasks/${encoded(job)}/Lineage`, "Load orders"],
      [`/pipelines/${flow}/Tasks`, "Nightly"],
      [`/dataProduct/${product}/Assets`, "Sales figures"],
      [`/tag/${encoded("urn:li:tag:pii")}/Documentation`, "PII"],
      [`/dataset/${encoded(urn)}/Columns?is_lineage_mode=false`, "story_addresses"],
    ] as const) {
      await page.goto(address);
      await expect(page.getByRole("heading", { level: 1 }), address).toHaveText(heading);
    }
    // A task is on the platform of its pipeline.
    await page.goto(`/tasks/${job}`);
    await expect(page.locator("header .breadcrumb").getByRole("link")).toHaveText([
      "Airflow",
      "Nightly",
    ]);
    await page.goto("/tag/urn:li:tag:story-missing");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Page not found");
  },
);

test("addresses of DataHub of another form lead to the same page", async ({ page }) => {
  const heading = page.getByRole("heading", { level: 2 }).first();
  for (const [address, title] of [
    ["/settings/identities/groups", "Groups"],
    ["/settings/permissions/roles", "Roles"],
    ["/settings/ownership", "Ownership types"],
    ["/ingestion", "Ingestion"],
    ["/structured-properties", "Structured properties"],
  ] as const) {
    await page.goto(address);
    await expect(heading, address).toHaveText(title);
  }
  const orders = encodeURIComponent(datasetUrn("postgres", "shop.public.orders"));
  await page.goto(`/dataset/${orders}/Schema?is_lineage_mode=true&separate_siblings=false`);
  await expect(page).toHaveURL(/\/Lineage$/);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("orders");
  await page.goto(`/embed/dataset/${orders}?is_lineage_mode=true`);
  await expect(page).toHaveURL(/^[^?]*\/dataset\/[^/]+\/Lineage$/);
  await page.goto("/settings/views");
  await expect(page.getByRole("heading", { name: "Saved searches" })).toBeVisible();
  await page.goto("/embed/tag/urn:li:tag:pii");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("PII");
  await expect(page).toHaveURL(/\/tag\/urn:li:tag:pii$/);
});

test("searches bookmarked in DataHub keep their filters", async ({ page }) => {
  const count = async (address: string) => {
    await page.goto(address);
    await expect(page.getByRole("status").first()).toContainText(/result/);
    return page.getByRole("heading", { level: 1 }).innerText();
  };
  const datasets = "filter__entityType%E2%90%9EtypeNames___false___EQUAL___0=DATASET";
  const postgres = "filter_platform___false___EQUAL___1=urn%3Ali%3AdataPlatform%3Apostgres";
  const found = await count(`/search?page=1&query=*&unionType=0&${datasets}&${postgres}`);
  await expect(page).toHaveURL(
    "/search?filter__entityType=DATASET&filter_platform=urn%3Ali%3AdataPlatform%3Apostgres",
  );
  expect(found).not.toMatch(/^0 /);
  await count("/search/dataset?filter_domains___true___EXISTS___0=");
  await expect(page).toHaveURL("/search?filter_missing=domains");
  await count("/search/?query=refunds&filter_entity=DATASET");
  await expect(page).toHaveURL("/search?query=refunds&filter__entityType=DATASET");
});

test("a search finds people and tags as kinds of their own", async ({ page }) => {
  await page.goto("/search?query=privacy+officer");
  const person = page
    .getByRole("article")
    .filter({ has: page.getByRole("link", { name: "Privacy Officer", exact: true }) })
    .first();
  await expect(person).toContainText("User");
  await page
    .getByRole("group", { name: "Entity type" })
    .getByRole("checkbox", { name: /Users/ })
    .check();
  await person.getByRole("link", { name: "Privacy Officer" }).click();
  await expect(page).toHaveURL(/\/user\//);
});

test(
  "a user's picture is shown if it is a file of this server or in its address, and initials otherwise",
  WRITES,
  async ({ page, docent }) => {
    const user = "urn:li:corpuser:ml-engineer";
    const dot =
      "<svg xmlns='http://www.w3.org/2000/svg' width='8' height='8'><circle r='4'/></svg>";
    const setPicture = (pictureLink: string) =>
      docent.graphql(
        `mutation ($urn: String!, $input: CorpUserUpdateInput!) { updateCorpUserProperties(urn: $urn, input: $input) { urn } }`,
        { urn: user, input: { pictureLink } },
      );
    const heading = page.getByRole("main").locator("article");
    const picture = heading.locator("img.avatar");
    const initials = heading.locator("span.avatar").filter({ hasText: "ME" });
    // A reverse proxy may serve pictures.
    await page.route("**/assets/pictures/ml.svg", (route) =>
      route.fulfill({ contentType: "image/svg+xml", body: dot }),
    );
    const shown = [
      `data:image/svg+xml,${encodeURIComponent(dot)}`,
      "/assets/pictures/ml.svg",
      `${docent.address}/assets/pictures/ml.svg`,
    ];
    for (const link of shown) {
      await setPicture(link);
      await page.goto(`/user/${user}`);
      await expect(picture).toBeVisible();
      await expect(picture).toHaveJSProperty("complete", true);
      await expect(picture).not.toHaveJSProperty("naturalWidth", 0);
    }
    const requested: string[] = [];
    page.on("request", (request) => requested.push(request.url()));
    const others = [
      "https://pictures.example.com/ml.png",
      "/logOut",
      `${docent.address}/logOut`,
      "/assets/../logOut",
      "/assets/%2e%2e/logOut",
      "/assets/..%2flogOut",
      "/assets/..%5ClogOut",
    ];
    for (const link of others) {
      await setPicture(link);
      await page.goto(`/user/${user}`);
      await expect(initials).toBeVisible();
      await expect(picture).toHaveCount(0);
    }
    expect(requested.filter((url) => /logout|example\.com/i.test(url))).toEqual([]);
    // A file that is not there.
    await page.route("**/assets/pictures/gone.svg", (route) => route.fulfill({ body: "" }));
    await setPicture("/assets/pictures/gone.svg");
    await page.goto(`/user/${user}`);
    await expect(initials).toBeVisible();
    await expect(picture).toHaveCount(0);
  },
);

test(
  "the color of a tag is a color, and never an address that the page would read",
  WRITES,
  async ({ page, docent }) => {
    const tag = "urn:li:tag:story-color";
    const dataset = datasetUrn("hive", "story_color");
    await docent.ingest(tag, "tagProperties", { name: "Story color", colorHex: "url(/logOut)" });
    await docent.ingest(dataset, "schemaMetadata", {
      schemaName: "table",
      platform: "urn:li:dataPlatform:hive",
      version: 0,
      hash: "",
      platformSchema: { "com.linkedin.schema.OtherSchema": { rawSchema: "" } },
      fields: [
        {
          fieldPath: "id",
          type: { type: { "com.linkedin.schema.NumberType": {} } },
          nativeDataType: "int",
          globalTags: { tags: [{ tag }] },
        },
      ],
    });
    await docent.ingest(dataset, "globalTags", { tags: [{ tag }] });
    const requested: string[] = [];
    page.on("request", (request) => requested.push(request.url()));
    for (const address of [
      `/tag/${tag}`,
      `/dataset/${encodeURIComponent(dataset)}`,
      `/dataset/${encodeURIComponent(dataset)}?column=id`,
      "/tags?query=story",
    ]) {
      await page.goto(address);
      await expect(page.getByText("Story color").first()).toBeVisible();
    }
    expect(requested.filter((url) => /logout/i.test(url))).toEqual([]);
  },
);

test(
  "people edit their own profile, and others only with the right",
  WRITES,
  async ({ browser, docent, page }) => {
    const context = await newUser(browser, docent, "Petra", "Reader");
    const own = await context.newPage();
    const reply = await context.request.post("/api/graphql", {
      data: { query: "{ me { corpUser { urn } } }" },
    });
    const me: string = (await reply.json()).data.me.corpUser.urn;
    await own.goto(`/user/${me}`);
    await own.getByRole("button", { name: "Edit profile" }).click();
    const dialog = own.getByRole("dialog");
    await dialog.getByLabel("Title").fill("Analyst for returns");
    await dialog.getByLabel("Email").fill("not an address");
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(dialog.getByRole("alert")).toContainText("ada@example.com");
    await dialog.getByLabel("Email").fill("petra@example.com");
    await dialog.getByLabel("About").fill("Ask me about **refunds**.");
    await expectAccessible(own, "profile dialog");
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(dialog).toBeHidden();
    await expect(own.getByText("Analyst for returns")).toBeVisible();
    await expect(own.getByRole("link", { name: "petra@example.com" })).toBeVisible();
    await expect(own.locator("strong", { hasText: "refunds" })).toBeVisible();
    await own.goto("/user/urn:li:corpuser:datahub");
    await expect(own.getByRole("heading", { level: 1 })).toBeVisible();
    await expect(own.getByRole("button", { name: "Edit profile" })).toHaveCount(0);
    await context.close();
    // Administrators correct the profiles of others.
    await page.goto(`/user/${me}`);
    await page.getByRole("button", { name: "Edit profile" }).click();
    await page.getByRole("dialog").getByLabel("Display name").fill("Petra the Analyst");
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Petra the Analyst");
  },
);

test("a reader is not offered to add assets", WRITES, async ({ browser, docent }) => {
  const reader = await newUser(browser, docent, "Rebecca", "Reader");
  const page = await reader.newPage();
  for (const address of [
    "/tag/urn:li:tag:pii",
    "/glossaryTerm/urn:li:glossaryTerm:net-revenue",
    "/domain/urn:li:domain:finance",
  ]) {
    await page.goto(address);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await page.waitForLoadState("networkidle");
    await expect(page.locator(".skeleton")).toHaveCount(0);
    await expect(page.getByRole("button", { name: "Add assets" })).toHaveCount(0);
  }
  await reader.close();
});

test(
  "assets are added from the pages of a tag, a term and a domain",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "story_added_asset");
    const term = "urn:li:glossaryTerm:story-added";
    await docent.ingest(term, "glossaryTermInfo", {
      name: "Story added",
      definition: "",
      termSource: "INTERNAL",
    });
    for (const address of [
      "/tag/urn:li:tag:pii",
      `/glossaryTerm/${term}`,
      "/domain/urn:li:domain:finance",
    ]) {
      await page.goto(address);
      await page.getByRole("button", { name: "Add assets" }).click();
      const dialog = page.getByRole("dialog", { name: /^Add assets to/ });
      await dialog.getByRole("combobox").fill("story_added_asset");
      await dialog.getByRole("option", { name: /story_added_asset/ }).click();
      await expect(dialog.getByRole("status")).toHaveText("“story_added_asset” added.");
      await expect(dialog.getByRole("option").first()).toContainText("Added");
      await expectAccessible(page, address);
      await page.keyboard.press("Escape");
      await expect(dialog).toBeHidden();
    }
    // An asset of another domain is moved only after a question.
    await page.goto("/domain/urn:li:domain:sales");
    await page.getByRole("button", { name: "Add assets" }).click();
    const dialog = page.getByRole("dialog", { name: /^Add assets to/ });
    await dialog.getByRole("combobox").fill("story_added_asset");
    await dialog.getByRole("option", { name: /story_added_asset/ }).click();
    await expect(dialog.getByRole("alert")).toContainText("is in the domain Finance");
    await dialog.getByRole("button", { name: "Keep it there" }).click();
    await page.keyboard.press("Escape");
    const stored = await docent.graphql<{
      dataset: {
        domain: { domain: { urn: string } };
        tags: { tags: readonly { tag: { urn: string } }[] };
        glossaryTerms: { terms: readonly { term: { urn: string } }[] };
      };
    }>(
      `query ($urn: String!) { dataset(urn: $urn) { domain { domain { urn } }
        tags { tags { tag { urn } } } glossaryTerms { terms { term { urn } } } } }`,
      { urn },
    );
    expect(stored.dataset.domain.domain.urn).toBe("urn:li:domain:finance");
    expect(stored.dataset.tags.tags.map(({ tag }) => tag.urn)).toEqual(["urn:li:tag:pii"]);
    expect(stored.dataset.glossaryTerms.terms.map(({ term }) => term.urn)).toEqual([term]);
  },
);
