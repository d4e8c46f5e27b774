import type { Page } from "@playwright/test";

import { datasetUrn, expect, test } from "./docent.ts";
import type { Docent } from "./docent.ts";

const DOMAINS = 1_000;
const AT_ONCE = 50;

/** Domains in tens: each tenth at the top, the others inside of it. */
async function plant(docent: Docent): Promise<void> {
  for (let start = 0; start < DOMAINS; start += AT_ONCE) {
    const fields = Array.from({ length: AT_ONCE }, (_, place) => {
      const number = start + place;
      const parent = number % 10 === 0 ? "null" : `"urn:li:domain:many-${number - (number % 10)}"`;
      return `d${number}: createDomain(input: { id: "many-${number}", name: "Many ${number}", parentDomain: ${parent} })`;
    });
    await docent.ask(`mutation { ${fields.join(" ")} }`);
  }
}

test("a thousand domains are shown, opened and filtered without waiting", async ({ page, docent }) => {
  test.setTimeout(120_000);
  await plant(docent);
  await page.goto("/domains");
  await expect(page.getByRole("link", { name: "Many 990", exact: true })).toBeVisible({ timeout: 20_000 });
  const names = await page.getByRole("rowheader").filter({ hasText: /Many/ }).allInnerTexts();
  expect(names.slice(0, 3).map((name) => name.replace(/\D/g, ""))).toEqual(["0", "10", "20"]);
  // Of so many only the top is shown at first.
  await expect(page.getByRole("link", { name: "Many 991", exact: true })).toBeHidden();
  await page.getByRole("button", { name: "Show what is inside Many 990" }).click();
  await expect(page.getByRole("link", { name: "Many 991", exact: true })).toBeVisible();
  // Other tests run beside this one: the best of some attempts is what the page itself needs.
  const filterings: number[] = [];
  for (const wanted of ["Many 123", "Many 789", "Many 456"]) filterings.push(await filtered(page, wanted));
  expect(Math.min(...filterings), "milliseconds of filtering").toBeLessThan(100);
  await expect(page.getByRole("rowheader")).toHaveText([/Many 450/, /Many 456/]);
  await page.goto(`/dataset/${datasetUrn("hive", "fct_users_created")}`);
  await page.getByRole("button", { name: /(Set a|Edit the) domain/ }).click();
  await page.getByRole("dialog").getByRole("combobox", { name: "Filter domains" }).fill("Many 456");
  await expect(page.getByRole("option")).toHaveText([/Many 450/, /Many 456/]);
  await page.goto("/");
  await expect(page.getByText(/datasets in 1,0\d\d domains/)).toBeVisible();
  // As many as can be looked at.
  await expect(page.getByRole("region", { name: "Domains" }).getByRole("listitem")).toHaveCount(16);
});

/** How long it takes from typing into the filter to the two rows that are left: the domain and the one around it. */
function filtered(page: Page, text: string): Promise<number> {
  return page.getByLabel("Filter domains").evaluate(async (field: HTMLInputElement, typed) => {
    const rows = () => document.querySelectorAll("main [scope=row], main [role=rowheader]").length;
    const type = (value: string) => {
      field.value = value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    };
    type("");
    while (rows() <= 2) await new Promise(requestAnimationFrame);
    const before = performance.now();
    type(typed);
    while (rows() !== 2) await new Promise<void>((resolve) => setTimeout(resolve));
    return performance.now() - before;
  }, text);
}

test("a domain with many datasets is paged through, and every page has an address", async ({ page, docent }) => {
  const parent = "urn:li:domain:full";
  await docent.ask(`mutation { createDomain(input: { id: "full", name: "Full" }) }`);
  await docent.ask(
    `mutation { createDomain(input: { id: "full-inside", name: "Full inside", parentDomain: "${parent}" }) }`,
  );
  const number = (place: number) => String(place).padStart(3, "0");
  for (let place = 0; place < 120; place += 1) {
    const domain = place < 110 ? parent : `${parent}-inside`;
    await docent.ingest(datasetUrn("hive", `full.table_${number(place)}`), "domains", { domains: [domain] });
  }
  const datasets = page.getByRole("region", { name: "Datasets" });
  const first = datasets.getByRole("rowheader").first();
  await page.goto(`/domain/${parent}`);
  await expect(first).toHaveText(/table_000/);
  await expect(datasets).toContainText("1–50 of 110");
  const next = page.getByRole("link", { name: "Next" });
  await next.scrollIntoViewIfNeeded();
  expect(await page.evaluate(() => window.scrollY)).toBeGreaterThan(0);
  await next.click();
  await expect(first).toHaveText(/table_050/);
  expect(await page.evaluate(() => window.scrollY)).toBe(0);
  await page.getByLabel("with all below").check();
  await expect(datasets).toContainText("1–50 of 120");
  await page.getByRole("link", { name: "Next" }).click();
  await page.getByRole("link", { name: "Next" }).click();
  await expect(datasets).toContainText("101–120 of 120");
  await page.reload();
  await expect(datasets).toContainText("101–120 of 120");
  await page.goBack();
  await expect(datasets).toContainText("51–100 of 120");
});
