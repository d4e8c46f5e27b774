import type { Page } from "@playwright/test";

import { datasetUrn, expect, test, type Docent } from "../tests/fixtures.ts";

const PAYMENTS = datasetUrn("postgres", "shop.billing.payments");

const TEXTS = [
  "One row per payment attempt, from the shop's checkout.",
  "One row per payment attempt, **including failed ones**: filter by `status` before you sum.",
];

/** Each page, and what must be visible before its screenshot is taken. */
const PAGES: ReadonlyArray<readonly [string, string, (page: Page) => Promise<void>]> = [
  [
    "home",
    "/",
    (page) => expect(page.getByRole("table", { name: "Changes per week" })).toBeVisible(),
  ],
  [
    "search",
    "/search?query=customer+order",
    (page) => expect(page.getByRole("article").first()).toBeVisible(),
  ],
  [
    "dataset",
    `/dataset/${PAYMENTS}`,
    (page) => expect(page.getByRole("rowheader", { name: "payment_id" })).toBeVisible(),
  ],
  [
    "domains",
    "/domains",
    (page) => expect(page.getByRole("link", { name: "Finance" })).toBeVisible(),
  ],
  [
    "history",
    `/dataset/${PAYMENTS}?show=history`,
    (page) => expect(page.locator("ins").first()).toBeVisible(),
  ],
];

async function prepare(docent: Docent): Promise<void> {
  for (const description of TEXTS) {
    await docent.graphql(
      `mutation ($input: DescriptionUpdateInput!) { updateDescription(input: $input) }`,
      {
        input: { resourceUrn: PAYMENTS, description },
      },
    );
  }
}

test("screenshots of the pages", async ({ page, docent }) => {
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
