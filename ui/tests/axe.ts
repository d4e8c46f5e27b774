import AxeBuilder from "@axe-core/playwright";
import { expect, type Page } from "@playwright/test";

/** Expects that axe finds no violation of all its rules, or of the given ones. */
export async function expectAccessible(page: Page, name: string, ...rules: string[]) {
  const axe = new AxeBuilder({ page })
    // GraphiQL is third-party code.
    .exclude(".graphiql-container")
    // The details of what passed are not read, and take longer than the checks.
    .options({ resultTypes: ["violations"] })
    // The page has no frames, so the result needs no page of its own to be put together.
    .setLegacyMode();
  const { violations } = await (rules.length > 0 ? axe.withRules(rules) : axe).analyze();
  expect(violations.map((found) => `${name}: ${found.id} ${found.nodes[0]?.html}`)).toEqual([]);
}
