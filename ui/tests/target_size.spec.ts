// What is clicked or touched is large enough (WCAG 2.5.8).

import type { Page } from "@playwright/test";

import { expectAccessible } from "./axe.ts";
import { datasetUrn, expect, test } from "./fixtures.ts";

const ORDERS = `/dataset/${datasetUrn("postgres", "shop.public.orders")}`;

const PAGES: readonly string[] = [
  "/",
  "/search?query=order",
  "/changes",
  ORDERS,
  `${ORDERS}?show=history`,
  `${ORDERS}/Lineage?view=list`,
  `/dataset/${datasetUrn("snowflake", "analytics.core.fct_orders")}/Quality`,
  "/domains",
  "/domain/urn:li:domain:finance",
  "/glossary",
  "/tag/urn:li:tag:pii",
  "/platform/urn:li:dataPlatform:postgres",
  "/bulk/columns?name=customer_id",
  "/proposals",
  "/settings/tokens",
  "/settings/policies",
  "/settings/audit",
];

/** WCAG's least width and height, in CSS pixels. */
const LEAST = 24;

/** The buttons, fields and entries of navigations that are too small. */
const tooSmall = (page: Page) =>
  page.evaluate((least) => {
    const targets = "button, select, summary, textarea, [role=tab], nav a";
    const fields = "input:not([type=checkbox], [type=radio], [type=file])";
    return [...document.querySelectorAll<HTMLElement>(`${targets}, ${fields}`)]
      .filter((element) => element.checkVisibility({ visibilityProperty: true }))
      .filter((element) => {
        const { width, height } = element.getBoundingClientRect();
        // Hidden for all but screen readers.
        if (width <= 1 || height <= 1) return false;
        // Browsers place elements at fractions of a pixel.
        return width < least - 0.1 || height < least - 0.1;
      })
      .map((element) => {
        const { width, height } = element.getBoundingClientRect();
        return `${Math.round(width)} × ${Math.round(height)}: ${element.outerHTML.slice(0, 120)}`;
      });
  }, LEAST);

for (const [name, width] of [
  ["windows", 1280],
  ["phones", 375],
] as const)
  test(`targets are at least 24 by 24 pixels on ${name}`, async ({ page }) => {
    test.setTimeout(120_000);
    await page.setViewportSize({ width, height: 860 });
    for (const path of PAGES) {
      await page.goto(path);
      await expect(page.getByRole("heading", { level: 1 }), path).toBeVisible();
      await page.waitForLoadState("networkidle");
      await expect(page.locator(".skeleton"), path).toHaveCount(0);
      expect.soft(await tooSmall(page), path).toEqual([]);
      // Links and checkboxes may be smaller, if others are far enough from them.
      await expectAccessible(page, path, "target-size");
    }
  });
