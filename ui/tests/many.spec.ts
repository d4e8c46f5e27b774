import { expect, test } from "./docent.ts";
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
  // Of so many only the top is shown at first.
  await expect(page.getByRole("link", { name: "Many 991", exact: true })).toBeHidden();
  await page.getByRole("button", { name: "Show what is inside Many 990" }).click();
  await expect(page.getByRole("link", { name: "Many 991", exact: true })).toBeVisible();
  await page.getByLabel("Filter domains").fill("Many 456");
  await expect(page.getByRole("rowheader")).toHaveText([/Many 450/, /Many 456/]);
  await page.goto("/");
  await expect(page.getByText(/datasets in 1,0\d\d domains/)).toBeVisible();
  const listed = page.getByRole("region", { name: "Domains" }).getByRole("listitem");
  expect(await listed.count()).toBeLessThan(20);
});
