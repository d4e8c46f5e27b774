import { readFile } from "node:fs/promises";

import type { Page } from "@playwright/test";

import { newUser } from "./accounts.ts";
import { expectAccessible } from "./axe.ts";
import { WRITES, expect, test } from "./fixtures.ts";
import {
  createTable,
  createTables,
  createWarehouse,
  lineageAddress,
  table,
} from "./lineage_fixtures.ts";

const graph = (page: Page) => page.getByRole("group", { name: /^Lineage of/ });
const card = (page: Page, name: string) =>
  graph(page).getByRole("button", { name: new RegExp(`^${name},`) });
const left = async (page: Page, name: string) =>
  (await card(page, name).boundingBox())?.x ?? Number.NaN;

test(
  "the graph shows tables, tasks and dashboards, and is expanded step by step",
  WRITES,
  async ({ page, docent }) => {
    const all = await createWarehouse(docent, "story_graph");
    await page.goto(lineageAddress(all.clean));
    await expect(page).toHaveTitle("Lineage of story_graph_clean · Docent");
    await expect(page.getByRole("navigation", { name: "Dataset sections" })).toContainText(
      "Lineage 3",
    );
    // Two steps both ways, upstream on the left.
    await expect(page.getByText("6 entities shown")).toBeVisible();
    await expect(card(page, "story_graph_clean")).toHaveAccessibleName(/this page$/);
    await expect(card(page, "story_graph_mart")).toHaveAccessibleName(/Hive, Deprecated/);
    await expect(card(page, "story_graph load")).toHaveAccessibleName(/Task/);
    expect(await left(page, "story_graph_raw")).toBeLessThan(await left(page, "story_graph load"));
    expect(await left(page, "story_graph load")).toBeLessThan(
      await left(page, "story_graph_clean"),
    );
    expect(await left(page, "story_graph_clean")).toBeLessThan(
      await left(page, "story_graph_mart"),
    );
    await expectAccessible(page, "graph");

    // One more step, and back.
    await page
      .getByRole("button", { name: "Show 1 more downstream of story_graph revenue" })
      .click();
    await expect(card(page, "story_graph board")).toBeVisible();
    await page.getByRole("button", { name: "Hide downstream of story_graph_clean" }).click();
    await expect(card(page, "story_graph board")).toBeHidden();
    await expect(page.getByText("3 entities shown")).toBeVisible();
    await page.getByRole("button", { name: "Show 2 more downstream of story_graph_clean" }).click();

    // Fewer steps; the address keeps them.
    await page.getByLabel("Steps").selectOption("1");
    await expect(card(page, "story_graph_raw")).toBeHidden();
    await expect(page).toHaveURL(/steps=1/);

    // The details, and a search within the graph.
    await page.getByLabel("Find in graph").fill("mart");
    await expect(page.getByText("1 match", { exact: true })).toBeVisible();
    await page.getByLabel("Find in graph").press("Enter");
    const details = page.getByRole("region", { name: "Selected entity" });
    await expect(details).toContainText("Shop Developer");
    await expect(details).toContainText("1 upstream, 1 downstream");
    await expectAccessible(page, "details");
    await details.getByRole("link", { name: "Show its lineage" }).click();
    await expect(page).toHaveTitle("Lineage of story_graph_mart · Docent");

    // Dashboards and tasks have the tab, too, at DataHub's addresses.
    await page.goto(`/dashboard/${all.dashboard}/Lineage`);
    await expect(card(page, "story_graph revenue")).toBeVisible();
    await page.goto(`/tasks/${all.job}`);
    await page.getByRole("link", { name: "Lineage" }).click();
    await expect(card(page, "story_graph_raw")).toBeVisible();
  },
);

test("the graph can be used with the keyboard, and as a list", WRITES, async ({ page, docent }) => {
  const all = await createWarehouse(docent, "story_keys");
  await page.goto(lineageAddress(all.clean));
  await expect(page.getByText("6 entities shown")).toBeVisible();
  await card(page, "story_keys_clean").focus();
  await page.keyboard.press("ArrowLeft");
  await expect(card(page, "story_keys load")).toBeFocused();
  await page.keyboard.press("ArrowLeft");
  await expect(card(page, "story_keys_raw")).toBeFocused();
  await page.keyboard.press("Home");
  await expect(card(page, "story_keys_clean")).toBeFocused();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("region", { name: "Selected entity" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("region", { name: "Selected entity" })).toBeHidden();
  await page.keyboard.press("Home");
  await page.keyboard.press("Shift+ArrowRight");
  await expect(page.getByText("3 entities shown")).toBeVisible();
  await page.keyboard.press("Shift+ArrowRight");
  await expect(card(page, "story_keys_mart")).toBeVisible();

  await page.getByRole("button", { name: "List", exact: true }).click();
  const upstream = page.getByRole("region", { name: "1 step upstream" });
  await expect(upstream).toContainText("Made from story_keys_raw");
  await expect(upstream).toContainText("Flows into story_keys_clean");
  const downstream = page.getByRole("region", { name: "2 steps downstream" });
  await expect(downstream).toContainText("story_keys revenue");
  await expectAccessible(page, "list");
  await downstream.getByRole("button", { name: /^Show 1 more downstream/ }).click();
  await expect(page.getByRole("region", { name: "3 steps downstream" })).toContainText(
    "story_keys board",
  );

  // A phone starts with the list, and fits.
  await page.setViewportSize({ width: 360, height: 740 });
  await page.goto(lineageAddress(all.clean));
  await expect(upstream).toBeVisible();
  const overflow = () =>
    page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
  expect(await overflow()).toBeLessThanOrEqual(0);
  await page.getByRole("button", { name: "Impact", exact: true }).click();
  await expect(page.getByRole("table", { name: "Affected entities" })).toBeVisible();
  expect(await overflow()).toBeLessThanOrEqual(0);
});

test(
  "columns are traced, paths are found, and a period filters edges",
  WRITES,
  async ({ page, docent }) => {
    const all = await createWarehouse(docent, "story_trace");
    await page.goto(lineageAddress(all.clean));
    await page.getByRole("combobox", { name: "Column", exact: true }).fill("id");
    await page.getByRole("combobox", { name: "Column", exact: true }).press("Enter");
    await expect(page.getByText("Where id of story_trace_clean comes from and goes")).toBeVisible();
    const traced = graph(page).getByRole("button", { name: "customer" });
    await expect(traced).toBeVisible();
    await expect(card(page, "story_trace_archive")).toBeHidden();
    await expectAccessible(page, "column");
    await traced.click();
    await expect(page).toHaveURL(/column=.*customer/);
    await expect(
      page.getByText("Where customer of story_trace_mart comes from and goes"),
    ).toBeVisible();
    await page.getByRole("button", { name: "Back to the tables" }).click();
    await page.getByRole("combobox", { name: "Column", exact: true }).fill("city");
    await page.getByRole("combobox", { name: "Column", exact: true }).press("Enter");
    await expect(
      page.getByText("No column lineage is known for city of story_trace_clean."),
    ).toBeVisible();
    await page.getByRole("button", { name: "Back to the tables" }).click();
    await page.getByRole("combobox", { name: "Column", exact: true }).fill("no_such_column");
    await page.getByRole("combobox", { name: "Column", exact: true }).press("Enter");
    await expect(page.getByText("There is no column “no_such_column”.")).toBeVisible();

    // The path to an entity that is not in the graph.
    await card(page, "story_trace_raw").click();
    await page.getByRole("button", { name: "Show path to another entity…" }).click();
    await page.getByRole("dialog").getByRole("combobox").fill("story_trace board");
    await page.getByRole("option", { name: /story_trace board/ }).click();
    await expect(
      page.getByText("Shortest paths between story_trace_raw and story_trace board"),
    ).toBeVisible();
    await expect(page.getByText("6 entities shown")).toBeVisible();
    await expect(card(page, "story_trace_archive")).toBeHidden();
    await page.getByRole("button", { name: "Back to the graph" }).click();
    await expect(card(page, "story_trace_archive")).toBeVisible();

    // The copy was last made in 2020.
    await page.getByLabel("Period").selectOption("Last year");
    await expect(card(page, "story_trace_archive")).toBeHidden();
    await expect(card(page, "story_trace_mart")).toBeVisible();
    await page.getByLabel("Period").selectOption("Custom");
    await page.getByLabel("From", { exact: true }).fill("2020-02-01");
    await page.getByLabel("Until").fill("2020-03-01");
    await expect(card(page, "story_trace_archive")).toBeVisible();
    await page.reload();
    await expect(page.getByLabel("Until")).toHaveValue("2020-03-01");
    await expect(card(page, "story_trace_archive")).toBeVisible();

    // Paths, too.
    const [from, to] = [all.clean, all.archive].map(encodeURIComponent);
    await page.goto(`${lineageAddress(all.clean)}?from=${from}&to=${to}`);
    await expect(page.getByText("2 entities shown")).toBeVisible();
    await page.getByLabel("Period").selectOption("Last year");
    await expect(
      page.getByText("There is no path between story_trace_clean and story_trace_archive."),
    ).toBeVisible();
    await page.getByLabel("Period").selectOption("Any time");
    await expect(page.getByText("2 entities shown")).toBeVisible();
  },
);

test(
  "the impact list counts, filters and exports what is affected",
  WRITES,
  async ({ page, docent }) => {
    const all = await createWarehouse(docent, "story_impact");
    await page.goto(`${lineageAddress(all.clean)}?view=impact`);
    await expect(page.getByText("4 entities downstream")).toBeVisible();
    await expect(page.getByRole("region", { name: "By kind" })).toHaveText(
      /Datasets 2.*Dashboard 1/,
    );
    await expect(page.getByRole("region", { name: "By owner" })).toContainText("Shop Developer 1");
    const rows = page.getByRole("table", { name: "Affected entities" }).locator("tbody tr");
    await expect(rows).toHaveCount(4);
    await expect(rows.last()).toContainText("story_impact board");
    await expectAccessible(page, "impact");

    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export as CSV" }).click(),
    ]);
    expect(file.suggestedFilename()).toBe("Downstream of story_impact_clean.csv");
    const lines = (await readFile(await file.path(), "utf8")).trim().split("\r\n");
    expect(lines).toHaveLength(5);
    expect(lines).toContain(`"${all.mart}",story_impact_mart,Dataset,Hive,1,Shop Developer,,yes`);

    await page.getByLabel("Steps").selectOption("3 or more steps");
    await expect(page.getByText("1 entity downstream")).toBeVisible();
    await page.getByLabel("Steps").selectOption("Any number");
    await page
      .getByRole("region", { name: "By kind" })
      .getByRole("button", { name: "Dashboard" })
      .click();
    await expect(page.getByText("1 entity downstream")).toBeVisible();
    await page.getByRole("combobox", { name: "Kind" }).selectOption("Charts");
    await expect(rows).toHaveCount(1);
    await page.getByRole("combobox", { name: "Kind" }).selectOption("Any kind");
    await page.getByLabel("Filter by name or description").fill("archive");
    await expect(rows).toHaveCount(1);
    await page.getByLabel("Filter by name or description").fill("xyzzyplugh");
    await expect(page.getByText("Nothing matches these filters")).toBeVisible();
    await page.getByLabel("Filter by name or description").fill("");
    await page.getByLabel("Direction").selectOption("Upstream");
    await expect(page.getByText("2 entities upstream")).toBeVisible();
  },
);

test(
  "edges are added and removed by hand, with undo",
  WRITES,
  async ({ page, docent, browser }) => {
    const [one, other, ingested] = ["story_edit_one", "story_edit_other", "story_edit_source"].map(
      table,
    ) as [string, string, string];
    for (const urn of [one, other, ingested]) await createTable(docent, urn);
    await page.goto(lineageAddress(one));
    await expect(page.getByText("No lineage yet")).toBeVisible();
    await createTables(docent, new Map([[one, [ingested]]]));
    await page.reload();
    await page.getByRole("button", { name: "Edit lineage" }).click();
    const dialog = page.getByRole("dialog", { name: "Edit the lineage of story_edit_one" });
    const upstream = dialog.getByRole("region", { name: "Upstream" });
    await expect(upstream).toContainText("story_edit_source From ingestion");
    await expect(upstream.getByRole("button", { name: "Remove story_edit_source" })).toBeHidden();
    await upstream.getByRole("button", { name: "Add upstream…" }).click();
    await dialog.getByRole("combobox").fill("story_edit_other");
    await dialog.getByRole("option", { name: /story_edit_other/ }).click();
    await expect(upstream).toContainText("story_edit_other Will be added");
    await expectAccessible(page, "editor");
    await dialog.getByRole("button", { name: "Save 1 change" }).click();
    await expect(page.getByText("Lineage changed: 1 change.")).toBeVisible();
    await expect(card(page, "story_edit_other")).toBeVisible();
    await expect(page.getByText("Dashed: added by hand.")).toBeVisible();
    await page.getByRole("button", { name: "Undo" }).click();
    await expect(card(page, "story_edit_other")).toBeHidden();
    await page.getByRole("button", { name: "Undo" }).click();
    await expect(card(page, "story_edit_other")).toBeVisible();

    await page.getByRole("button", { name: "Edit lineage" }).click();
    await upstream.getByRole("button", { name: "Remove story_edit_other" }).click();
    await expect(upstream).toContainText("story_edit_other Will be removed");
    await dialog.getByRole("button", { name: "Save 1 change" }).click();
    await expect(card(page, "story_edit_other")).toBeHidden();
    await expect(card(page, "story_edit_source")).toBeVisible();

    // Readers are not offered the change.
    const context = await newUser(browser, docent, "LineageReader", "Reader");
    const reader = await context.newPage();
    await reader.goto(lineageAddress(one));
    await expect(card(reader, "story_edit_source")).toBeVisible();
    await expect(reader.getByRole("button", { name: "Edit lineage" })).toBeHidden();
    await context.close();
  },
);

test(
  "a graph of a thousand tables is laid out in a second, and says what it leaves out",
  WRITES,
  async ({ page, docent }) => {
    test.setTimeout(120_000);
    // A tree: 1 table, 10, 100 and 889, and as many edges across it.
    const names = Array.from({ length: 1000 }, (_, index) => table(`story_many_${index}`));
    const upstreams = names.map((urn, index): [string, readonly string[]] => {
      const parent = names[Math.floor((index - 1) / 10)];
      const aunt = names[Math.floor((index - 1) / 10) + 1];
      return [
        urn,
        index === 0 || parent === undefined ? [] : [parent, ...(aunt && index > 20 ? [aunt] : [])],
      ];
    });
    await createTables(docent, new Map(upstreams));
    const start = names[0] ?? "";
    await page.goto(`${lineageAddress(start)}?steps=3`);
    await expect(page.getByText("1,000 entities shown")).toBeVisible();
    const duration = await page.evaluate(() => {
      const layouts = performance.getEntriesByName("lineage layout") as PerformanceMeasure[];
      return layouts.findLast((layout) => layout.detail === 1000)?.duration;
    });
    expect(duration).toBeLessThan(1000);
    // Only what is in view is in the document.
    expect(await graph(page).locator("[data-urn]").count()).toBeLessThan(150);
    await page.getByRole("button", { name: "Fit" }).click();
    await page.getByLabel("Find in graph").fill("story_many_777");
    await page.getByLabel("Find in graph").press("Enter");
    await expect(page.getByRole("region", { name: "Selected entity" })).toContainText(
      "story_many_777",
    );

    // A hub shows a part of its neighbors, and more on request.
    const hub = table("story_hub");
    const leaves = Array.from({ length: 1100 }, (_, index) => table(`story_leaf_${index}`));
    await createTables(
      docent,
      new Map([[hub, []], ...leaves.map((leaf): [string, string[]] => [leaf, [hub]])]),
    );
    await page.goto(lineageAddress(hub));
    await expect(page.getByText("26 entities shown")).toBeVisible();
    const cut = page.getByText(/^Showing 25 of 1,100 entities downstream of story_hub\./);
    await expect(cut).toBeVisible();
    await cut.getByRole("button", { name: "Show more" }).click();
    await expect(page.getByText("201 entities shown")).toBeVisible();
    await expect(page.getByText(/^Showing 200 of 1,100 entities/)).toBeVisible();
    await page.getByRole("button", { name: "Show more" }).click();
    await expect(page.getByText("1,001 entities shown")).toBeVisible();
    await expect(page.getByText(/^Showing 1,000 of 1,100.*The impact list has all/)).toBeVisible();
    await page.getByRole("listitem").getByRole("button", { name: "Impact" }).click();
    await expect(page.getByText("Showing 100 of 1,100 entities")).toBeVisible();
  },
);
