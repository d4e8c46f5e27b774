import type { Page } from "@playwright/test";

import { datasetUrn, expect, test } from "./docent.ts";

const COLUMNS = 5_000;

test("5,000 columns are there within a second, scroll smoothly and are filtered at once", async ({ page, docent }) => {
  const urn = datasetUrn("hive", "story_large");
  await docent.ingest(urn, "datasetProperties", { description: "Wide.", customProperties: {} });
  await docent.ingest(urn, "schemaMetadata", {
    schemaName: "wide",
    platform: "urn:li:dataPlatform:hive",
    version: 0,
    hash: "",
    platformSchema: { "com.linkedin.schema.OtherSchema": { rawSchema: "" } },
    fields: Array.from({ length: COLUMNS }, (_, number) => ({
      fieldPath: `measurement_${String(number).padStart(4, "0")}`,
      description: number % 3 === 0 ? `The value of sensor ${number} after calibration` : "",
      type: { type: { "com.linkedin.schema.NumberType": {} } },
      nativeDataType: "double",
    })),
  });

  // Other tests run beside this one: the best of some attempts is what the page itself needs.
  const openings: number[] = [];
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await page.goto("/search?query=story_large");
    const link = page.getByRole("article").first().getByRole("link").first();
    await expect(link).toBeVisible({ timeout: 30_000 });
    openings.push(await opened(page));
  }
  expect(Math.min(...openings), "first rows").toBeLessThan(1_000);
  await expect(page.getByRole("table", { name: "Columns" })).toHaveAttribute("aria-rowcount", String(COLUMNS + 1));
  expect(await page.getByRole("row").count(), "rows that are there").toBeLessThan(120);

  expect(await frameCost(page), "milliseconds of work for a frame").toBeLessThan(1000 / 60);

  await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
  await expect(page.getByRole("rowheader", { name: "measurement_4999" })).toBeVisible();
  await page.evaluate(() => window.scrollTo(0, 0));
  const filterings: number[] = [];
  for (const number of [4998, 3, 2001, 4002, 999]) filterings.push(await filtered(page, `sensor ${number} after`));
  await expect(page.getByText("1 of 5,000 columns")).toBeVisible();
  expect(Math.min(...filterings), "filtering").toBeLessThan(50);
});

test("of many columns with long texts one key leads to the last, and the filter stays in sight", async ({
  page,
  docent,
}) => {
  const urn = datasetUrn("hive", "story_large_texts");
  await docent.ingest(urn, "schemaMetadata", {
    schemaName: "long",
    platform: "urn:li:dataPlatform:hive",
    version: 0,
    hash: "",
    platformSchema: { "com.linkedin.schema.OtherSchema": { rawSchema: "" } },
    fields: Array.from({ length: 1_000 }, (_, number) => ({
      fieldPath: `measurement_${String(number).padStart(4, "0")}`,
      description: `The value of sensor ${number} after calibration. `.repeat(1 + (number % 7)),
      type: { type: { "com.linkedin.schema.NumberType": {} } },
      nativeDataType: "double",
    })),
  });
  await page.goto(`/dataset/${urn}`);
  await expect(page.getByRole("rowheader", { name: "measurement_0000" })).toBeVisible();
  await page.getByRole("main").focus();
  await page.keyboard.press("End");
  await expect(page.getByRole("rowheader", { name: "measurement_0999" })).toBeInViewport();
  const left = () => page.evaluate(() => document.documentElement.scrollHeight - window.innerHeight - window.scrollY);
  await expect.poll(left).toBeLessThan(3);
  await expect(page.getByLabel("Filter columns")).toBeInViewport();
  await expect(page.getByRole("columnheader", { name: "Type" })).toBeInViewport();
  // Filtering from down there shows what is left, below the head.
  await page.getByLabel("Filter columns").fill("sensor 12 after");
  await expect(page.getByRole("rowheader", { name: "measurement_0012" })).toBeInViewport();
});

/** How long it takes from the click on a result to the first rows. */
function opened(page: Page): Promise<number> {
  return page.evaluate(async () => {
    const before = performance.now();
    document.querySelector<HTMLAnchorElement>("a[data-result]")?.click();
    while (document.querySelector("[role=rowheader]") === null) await new Promise(requestAnimationFrame);
    return performance.now() - before;
  });
}

/** What a frame costs while one scrolls quickly, in milliseconds of processor time of the page's own thread: time on the clock
 *  would say how busy the machine is. */
async function frameCost(page: Page): Promise<number> {
  const client = await page.context().newCDPSession(page);
  await client.send("Performance.enable", { timeDomain: "threadTicks" });
  const used = async () => {
    const { metrics } = await client.send("Performance.getMetrics");
    return metrics.find((metric) => metric.name === "TaskDuration")?.value ?? Number.NaN;
  };
  const frames = 120;
  const before = await used();
  await page.evaluate(async (count) => {
    for (let step = 0; step < count; step += 1) {
      window.scrollTo(0, 600 + 300 * step);
      await new Promise(requestAnimationFrame);
    }
  }, frames);
  return (1000 * ((await used()) - before)) / frames;
}

/** How long it takes from typing into the filter to the rows that are left. */
function filtered(page: Page, text: string): Promise<number> {
  return page.evaluate(async (typed) => {
    const input = document.querySelector<HTMLInputElement>(".column-filter");
    const status = document.querySelector("#columns + [role=status]");
    if (input === null || status === null) return Number.POSITIVE_INFINITY;
    const type = (value: string) => {
      input.value = value;
      input.dispatchEvent(new Event("input", { bubbles: true }));
    };
    type("");
    while (!status.textContent.includes("described")) await new Promise(requestAnimationFrame);
    const before = performance.now();
    type(typed);
    while (!status.textContent.startsWith("1 of")) await new Promise<void>((resolve) => setTimeout(resolve));
    return performance.now() - before;
  }, text);
}
