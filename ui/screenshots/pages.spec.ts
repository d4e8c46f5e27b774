import type { Page } from "@playwright/test";

import { datasetUrn, expect, test, type Docent } from "../tests/docent.ts";

const PAYMENTS = datasetUrn("postgres", "shop.billing.payments");

const TEXTS = [
  "One row for each attempt to pay for an order, from the checkout of the shop.",
  "One row for each attempt to pay for an order, **failed ones included**: filter by `status` before you sum.",
];

/** Each page, and what must be there before its picture is taken. */
const PAGES: ReadonlyArray<readonly [string, string, (page: Page) => Promise<void>]> = [
  ["home", "/", (page) => expect(page.getByRole("table", { name: "Changes by week" })).toBeVisible()],
  ["search", "/search?query=customer+order", (page) => expect(page.getByRole("article").first()).toBeVisible()],
  [
    "dataset",
    `/dataset/${PAYMENTS}`,
    (page) => expect(page.getByRole("rowheader", { name: "payment_id" })).toBeVisible(),
  ],
  ["domains", "/domains", (page) => expect(page.getByRole("link", { name: "Finance" })).toBeVisible()],
  ["history", `/dataset/${PAYMENTS}?show=history`, (page) => expect(page.locator("ins").first()).toBeVisible()],
];

async function prepare(docent: Docent): Promise<void> {
  for (const description of TEXTS) {
    await docent.ask(`mutation ($input: DescriptionUpdateInput!) { updateDescription(input: $input) }`, {
      input: { resourceUrn: PAYMENTS, description },
    });
  }
}

test("pictures of the pages", async ({ page, docent }) => {
  await prepare(docent);
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    for (const [name, path, isReady] of PAGES) {
      await page.goto(path);
      await isReady(page);
      await page.waitForLoadState("networkidle");
      await page.screenshot({ path: `../docs/images/${name}-${scheme}.png` });
    }
  }
});
