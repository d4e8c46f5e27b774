import type { Page } from "@playwright/test";

import { expectAccessible } from "./axe.ts";
import { address, createDataset, describe } from "./datasets.ts";
import { datasetUrn, expect, test } from "./fixtures.ts";

const ORDERS = `/dataset/${datasetUrn("postgres", "shop.public.orders")}`;
const FACTS = `/dataset/${datasetUrn("snowflake", "analytics.core.fct_orders")}`;
const RECONCILIATION = `/dataset/${datasetUrn("snowflake", "analytics.finance.payment_reconciliation")}`;

/** Every page, in groups that workers share. */
const PAGES: Readonly<Record<string, ReadonlyArray<readonly [name: string, path: string]>>> = {
  "the first pages": [
    ["home", "/"],
    ["search", "/search?query=order"],
    ["search without results", "/search?query=xyzzyplugh"],
    ["changes", "/changes"],
    ["API", "/graphiql"],
    ["unknown page", "/no/such/page"],
  ],
  "pages of datasets": [
    ["dataset", ORDERS],
    ["history", `${ORDERS}?show=history`],
    ["history of a column", `${ORDERS}?show=history&column=order_id`],
    ["missing dataset", `/dataset/${datasetUrn("hive", "no_such_table")}`],
    ["lineage", `${ORDERS}/Lineage?view=graph`],
    ["lineage as a list", `${ORDERS}/Lineage?view=list`],
    ["impact", `${ORDERS}/Lineage?view=impact`],
  ],
  "tabs about trust": [
    ["quality", `${FACTS}/Quality`],
    ["usage", `${FACTS}/Usage`],
    ["queries", `${FACTS}/Queries`],
    ["properties", `${FACTS}/Properties`],
    ["forms of a dataset", `${ORDERS}/Forms`],
    ["dataset with an incident", `${RECONCILIATION}/Quality`],
  ],
  "pages of other entities": [
    ["domain", "/domain/urn:li:domain:finance"],
    ["history of a domain", "/domain/urn:li:domain:finance?show=history"],
    ["tag", "/tag/urn:li:tag:pii"],
    ["history of a tag", "/tag/urn:li:tag:pii?show=history"],
    ["user", "/user/urn:li:corpuser:shop-developer"],
    ["group", "/group/urn:li:corpGroup:shop-team"],
    ["glossary term", "/glossaryTerm/urn:li:glossaryTerm:net-revenue"],
    ["platform", "/platform/urn:li:dataPlatform:postgres"],
  ],
  lists: [
    ["domains", "/domains"],
    ["glossary", "/glossary"],
    ["tags", "/tags"],
    ["people", "/people"],
    ["groups", "/groups"],
    ["platforms", "/platforms"],
    ["data products", "/dataProducts"],
  ],
  "pages that change much at once": [
    ["columns by name", "/bulk/columns?name=customer_id"],
    ["CSV import", "/bulk/csv"],
    ["proposals", "/proposals"],
    ["decided proposals", "/proposals?show=decided"],
  ],
  "settings of users": [
    ["tokens", "/settings/tokens"],
    ["account", "/settings/account"],
    ["preferences", "/settings/appearance"],
    ["users", "/settings/users"],
    ["invitations", "/settings/invitations"],
    ["groups of users", "/settings/groups"],
    ["a group of users", "/settings/groups?group=urn:li:corpGroup:data-team"],
    ["service accounts", "/settings/service-accounts"],
    ["tokens of everyone", "/settings/all-tokens"],
  ],
  "settings of rights and the server": [
    ["roles", "/settings/roles"],
    ["policies", "/settings/policies"],
    ["policy", "/settings/policies?policy=urn:li:dataHubPolicy:finance-stewards"],
    ["ownership types", "/settings/ownership-types"],
    ["structured properties", "/settings/properties"],
    ["forms", "/settings/forms"],
    ["a form", "/settings/forms?form=urn:li:form:lanternfold.data-review"],
    ["ingestion", "/settings/ingestion"],
    ["secrets", "/settings/secrets"],
    ["webhooks", "/settings/webhooks"],
    ["missing webhook", "/settings/webhooks?webhook=urn:li:docentWebhook:missing"],
    ["audit log", "/settings/audit"],
    ["server", "/settings/server"],
  ],
};

/** Opens a page and waits until it is fully loaded, so that axe sees all of it. */
async function open(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await expect(page.getByRole("heading", { level: 1 }), path).toBeVisible();
  await page.waitForLoadState("networkidle");
  await expect(page.locator(".skeleton"), path).toHaveCount(0);
}

test.describe.configure({ mode: "parallel" });

for (const [group, pages] of Object.entries(PAGES)) {
  test(`axe finds no violations in ${group}, in both themes`, async ({ page }) => {
    test.setTimeout(120_000);
    for (const [name, path] of pages) {
      await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
      await open(page, path);
      await expectAccessible(page, name);
      // The themes have the same elements and differ only in their colors.
      await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
      await expectAccessible(page, `${name}, dark`, "color-contrast");
    }
  });

  test(`${group} do not scroll horizontally on a phone`, async ({ page }) => {
    await page.setViewportSize({ width: 375, height: 740 });
    for (const [name, path] of pages) {
      await open(page, path);
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect(overflow, name).toBeLessThanOrEqual(0);
    }
  });
}

test("axe finds no violations in dialogs and editors", async ({ page }) => {
  test.setTimeout(120_000);
  await page.goto(`/dataset/${datasetUrn("postgres", "shop.public.orders")}`);
  await page.getByRole("button", { name: "Edit description", exact: true }).click();
  await expect(page.getByRole("textbox", { name: /^Description \(Markdown\)$/ })).toBeFocused();
  await expectAccessible(page, "editor");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Edit domain" }).click();
  await expect(page.getByRole("option").first()).toBeVisible();
  await expectAccessible(page, "picker");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "More actions" }).click();
  await expectAccessible(page, "menu");
  await page.getByRole("menuitem", { name: "Deprecate…" }).click();
  await expect(page.getByRole("dialog", { name: "Deprecate dataset" })).toBeVisible();
  await expectAccessible(page, "deprecation");
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keyboard shortcuts" })).toBeVisible();
  await expectAccessible(page, "keyboard shortcuts");
  await page.keyboard.press("Escape");
  await page.goto("/settings/tokens");
  await page.getByRole("button", { name: "New token" }).click();
  await expect(page.getByRole("dialog", { name: "New token" })).toBeVisible();
  await expectAccessible(page, "new token");
});

test("axe finds no violations after a session expired or a save failed", async ({
  page,
  context,
  cookies,
  docent,
}) => {
  const urn = await createDataset(docent, "story_access");
  await page.goto(address(urn));
  await page.getByRole("button", { name: "Add description for column city" }).click();
  await page.keyboard.type("Half a sentence");
  await context.clearCookies();
  await page.keyboard.press("Control+Enter");
  const dialog = page.getByRole("dialog", { name: "Your session has expired" });
  await expect(dialog).toBeVisible();
  await expectAccessible(page, "session");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("row", { name: /^city/ }).getByRole("alert")).toBeVisible();
  await expectAccessible(page, "not saved");
  await describe(docent, urn, "Their text", "city");
  await context.addCookies([...cookies]);
  await page.getByRole("button", { name: "Try again" }).first().click();
  await expect(page.getByRole("alert")).toContainText("Their text");
  await expectAccessible(page, "conflict");
});

test("axe finds no violations on the sign-in page", async ({ browser, docent }) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(docent.address);
  await expect(page.getByLabel("Password")).toBeVisible();
  await expectAccessible(page, "sign-in");
  await context.close();
});
