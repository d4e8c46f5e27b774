import type { Page } from "@playwright/test";

import { datasetUrn, expect, test, type Docent } from "../tests/docent.ts";

const ORDERS = datasetUrn("postgres", "shop.public.orders");

const TEXTS = [
  "One row for each order of the shop, from the first click on *Buy now* to the parcel at the door.",
  "One row for each order of the shop, from the first click on *Buy now* to delivery. Amounts are **with tax**, in the currency of the order.\n\nCancelled orders stay: filter by `status`.",
];

/** Each page, and what must be there before its picture is taken. */
const PAGES: ReadonlyArray<readonly [string, string, (page: Page) => Promise<void>]> = [
  ["home", "/", (page) => expect(page.getByRole("img", { name: "Changes by week" })).toBeVisible()],
  ["search", "/search?query=customer+order", (page) => expect(page.getByRole("article").first()).toBeVisible()],
  [
    "dataset",
    `/dataset/${ORDERS}`,
    (page) => expect(page.getByRole("rowheader", { name: "customer_id" })).toBeVisible(),
  ],
  ["domains", "/domains", (page) => expect(page.getByRole("link", { name: "Finance" })).toBeVisible()],
  ["history", `/dataset/${ORDERS}?show=history`, (page) => expect(page.locator("ins").first()).toBeVisible()],
];

async function prepare(docent: Docent): Promise<void> {
  for (const description of TEXTS) {
    await docent.ask(`mutation ($input: DescriptionUpdateInput!) { updateDescription(input: $input) }`, {
      input: { resourceUrn: ORDERS, description },
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
