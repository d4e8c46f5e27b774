import { readFileSync } from "node:fs";

import type { Page } from "@playwright/test";

import { formatHeader, formatRow, parseRows, protect } from "../src/components/csv.ts";
import { expectAccessible } from "./axe.ts";
import { createDataset, describe, storedColumnDescription, storedDescription } from "./datasets.ts";
import { WRITES, expect, test } from "./fixtures.ts";

const HEADER = ["name", "text"];

test("cells survive a round trip, and none of them is a formula", () => {
  const cells = [
    "plain",
    "with, comma",
    'with "quotes"',
    "two\r\nlines",
    "=1+1",
    "+49 30",
    "-1",
    "@import",
    "'=quoted already",
    "\ttab",
    "'apostrophe",
    "semi;colon",
    "",
  ];
  const rows = cells.map((cell, index) => [String(index), cell]);
  const file = formatHeader(HEADER) + rows.map(formatRow).join("");
  expect(parseRows(file).map((row) => row.cells)).toEqual([HEADER, ...rows]);
  for (const cell of cells) expect(protect(cell)).not.toMatch(/^[=+\-@\t\r]/);
  // Lines are counted as an editor shows them.
  expect(
    parseRows(file)
      .map(({ line }) => line)
      .slice(3, 7),
  ).toEqual([4, 5, 7, 8]);
  expect(() => parseRows('a,b\n1,"open\n2,3')).toThrow(/line 2/);
  expect(parseRows("a;b\n1;2,5\n")[1]?.cells).toEqual(["1", "2,5"]);
});

/** Exports the results of a search and returns the rows of the file. */
async function exportRows(page: Page, query: string, contents = /each item/) {
  await page.goto(`/search?query=${query}`);
  await page.getByRole("button", { name: /^Export all/ }).click();
  const dialog = page.getByRole("dialog", { name: "Export as CSV" });
  await dialog.getByRole("radio", { name: contents }).check();
  const download = page.waitForEvent("download");
  await dialog.getByRole("button", { name: "Export" }).click();
  const file = readFileSync(await (await download).path(), "utf8");
  await expect(dialog).toContainText(/Exported \d+ rows?\./);
  return parseRows(file).map(({ cells }) => [...cells]);
}

async function importRows(page: Page, rows: readonly (readonly string[])[]) {
  const [header = [], ...others] = rows;
  const file = formatHeader(header) + others.map(formatRow).join("");
  await page.goto("/bulk/csv");
  await page
    .getByLabel("CSV file")
    .setInputFiles({ name: "edited.csv", mimeType: "text/csv", buffer: Buffer.from(file) });
}

test(
  "an exported file is edited and imported: differences, errors, conflicts, undo",
  WRITES,
  async ({ page, docent }) => {
    const names = ["csvstory_a", "csvstory_b", "csvstory_c", "csvstory_d"];
    const urns: string[] = [];
    for (const name of names) urns.push(await createDataset(docent, name));
    const [a = "", b = "", c = "", d = ""] = urns;
    await describe(docent, a, "=SUM(A1)");
    await describe(docent, b, "before");
    const rows = await exportRows(page, "csvstory");
    const [header = []] = rows;
    const cell = (urn: string, field: string) => {
      const row = rows.find((candidate) => candidate[0] === urn) ?? [];
      const index = header.indexOf(field);
      return { get: () => row[index] ?? "", set: (text: string) => (row[index] = text) };
    };
    expect(cell(a, "description").get()).toBe("=SUM(A1)");
    expect(cell(a, "imported_description").get()).toBe("An imported description.");

    cell(a, "description").set("");
    cell(b, "description").set("in the file");
    cell(b, "tags").set("PII; urn:li:tag:certified");
    cell(c, "description").set("of the file, too");
    cell(c, "domain").set("Finance");
    cell(d, "tags").set("no such tag");
    // Somebody else describes one of them after the export.
    await describe(docent, c, "newer in the catalog");
    rows.push(["urn:li:dataset:(urn:li:dataPlatform:hive,csvstory_none,PROD)"]);
    // The server rejects requests with these.
    rows.push(["urn:li:dataset:(x,y,PROD)"]);
    cell(d, "domain").set("urn:li:domain:(");
    await importRows(page, rows);
    const main = page.getByRole("main");
    await expect(main).toContainText("3 values will change");
    await expect(main).toContainText("1 value was changed in the catalog since the export");
    await expect(main).toContainText("1 cell was emptied, which changes nothing");
    const errors = page.getByRole("region", { name: "Errors" });
    await expect(errors).toContainText("Tags: “no such tag” does not exist");
    await expect(errors).toContainText("It does not exist, or you may not see it");
    await expect(errors).toContainText("Domain: “urn:li:domain:(” does not exist");
    const malformed = errors.getByRole("row").filter({ hasText: "(x,y,PROD)" });
    await expect(malformed).toContainText("is not a valid URN");
    await expect(malformed.getByRole("cell").first()).toHaveText("7");
    await expect(page.getByRole("region", { name: "Conflicts" })).toContainText(
      "newer in the catalog",
    );
    await expectAccessible(page, "differences of a file");
    await page.getByRole("button", { name: "Change 3 values" }).click();
    await expect(main).toContainText("3 changed");
    expect(await storedDescription(docent, a)).toBe("=SUM(A1)");
    expect(await storedDescription(docent, b)).toBe("in the file");
    expect(await storedDescription(docent, c)).toBe("newer in the catalog");
    const labels = await docent.graphql<{
      b: { tags: { tags: readonly { tag: { urn: string } }[] } };
      c: { domain: { domain: { urn: string } } };
    }>(
      `query ($b: String!, $c: String!) { b: dataset(urn: $b) { tags { tags { tag { urn } } } } c: dataset(urn: $c) { domain { domain { urn } } } }`,
      { b, c },
    );
    expect(labels.b.tags.tags.map(({ tag }) => tag.urn).sort()).toEqual([
      "urn:li:tag:certified",
      "urn:li:tag:pii",
    ]);
    expect(labels.c.domain.domain.urn).toBe("urn:li:domain:finance");

    await page.getByRole("button", { name: "Undo all" }).click();
    await expect(page.getByRole("button", { name: "Redo all" })).toBeVisible();
    expect(await storedDescription(docent, b)).toBe("before");
    const after = await exportRows(page, "csvstory");
    const ofB = after.find((row) => row[0] === b) ?? [];
    expect(ofB[header.indexOf("tags")]).toBe("");

    // (none) removes a value.
    cell(b, "description").set("(none)");
    await importRows(page, [header, rows.find((row) => row[0] === b) ?? []]);
    await expect(page.getByRole("region", { name: "Changes" })).toContainText("before");
  },
);

test("column descriptions are exported and imported", WRITES, async ({ page, docent }) => {
  const urn = await createDataset(docent, "csvcolumns");
  const rows = await exportRows(page, "csvcolumns", /each column/);
  const [header = [], ...columns] = rows;
  expect(columns.map((row) => row[header.indexOf("column")])).toEqual(["id", "name", "city"]);
  const city = columns[2] ?? [];
  city[header.indexOf("description")] = "Where, with\nthe country";
  await importRows(page, rows);
  await expect(page.getByRole("main")).toContainText("2 rows are unchanged");
  await page.getByRole("button", { name: "Change 1 value" }).click();
  await expect(page.getByRole("main")).toContainText("1 changed");
  expect(await storedColumnDescription(docent, urn, "city")).toBe("Where, with\nthe country");
});

test("files that can't be compared say why", async ({ page }) => {
  await page.goto("/bulk/csv");
  const upload = (content: string | Buffer) =>
    page
      .getByLabel("CSV file")
      .setInputFiles({ name: "x.csv", mimeType: "text/csv", buffer: Buffer.from(content) });
  const alert = page.getByRole("main").getByRole("alert");
  await upload("name,tags\norders,pii\n");
  await expect(alert).toHaveText("The file has no column “urn”.");
  await upload('urn,tags\n"urn:li:dataset:x,pii\n');
  await expect(alert).toHaveText("The quoted cell that starts on line 2 never ends.");
  await upload(Buffer.from([0x75, 0x72, 0x6e, 0x0a, 0xe4]));
  await expect(alert).toContainText("not UTF-8");
});

test(
  "owners of a kind from before ownership types survive a round trip",
  WRITES,
  async ({ page, docent }) => {
    const urn = await createDataset(docent, "csvowned");
    await docent.ingest(urn, "ownership", {
      owners: [{ owner: "urn:li:corpuser:datahub", type: "DATAOWNER" }],
      lastModified: { time: 0, actor: "urn:li:corpuser:datahub" },
    });
    const rows = await exportRows(page, "csvowned");
    const [header = [], row = []] = rows;
    expect(row[header.indexOf("owners")]).toContain("urn:li:corpuser:datahub");
    row[header.indexOf("tags")] = "PII";
    await importRows(page, rows);
    await expect(page.getByRole("main")).toContainText("1 value will change");
    await expect(page.getByRole("region", { name: "Errors" })).toHaveCount(0);
  },
);
