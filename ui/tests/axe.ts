import AxeBuilder from "@axe-core/playwright";
import { expect, type Page } from "@playwright/test";

/** Expects that axe finds no violation of all its rules, or of the given ones. */
export async function expectAccessible(page: Page, name: string, ...rules: string[]) {
  // GraphiQL is third-party code.
  const axe = new AxeBuilder({ page }).exclude(".graphiql-container");
  const { violations } = await (rules.length > 0 ? axe.withRules(rules) : axe).analyze();
  expect(violations.map((found) => `${name}: ${found.id} ${found.nodes[0]?.html}`)).toEqual([]);
}
