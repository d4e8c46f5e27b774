import type { Browser, BrowserContext, Request } from "@playwright/test";

import { newUser } from "./accounts.ts";
import { expectAccessible } from "./axe.ts";
import { address, createDataset, describe, storedDescription } from "./datasets.ts";
import { WRITES, expect, test, type Docent } from "./fixtures.ts";

const newProposer = (browser: Browser, docent: Docent, name: string) =>
  newUser(browser, docent, name, "Proposer");

/** Proposes a change over the API. */
async function propose(context: BrowserContext, mutation: string, input: object): Promise<void> {
  const reply = await context.request.post("/api/graphql", {
    data: { query: mutation, variables: { input } },
  });
  const body = (await reply.json()) as { extensions?: { proposals?: string[] } };
  expect(body.extensions?.proposals, JSON.stringify(body)).toHaveLength(1);
}

const isAcceptance = (request: Request) =>
  (request.postData() ?? "").includes("mutation AcceptProposal(");

const UPDATE = `mutation ($input: DescriptionUpdateInput!) { updateDescription(input: $input) }`;
const ADD_TAG = `mutation ($input: TagAssociationInput!) { addTag(input: $input) }`;

test(
  "a proposal is shown with its difference, accepted, and listed as decided",
  WRITES,
  async ({ page, browser, docent }) => {
    const urn = await createDataset(docent, "proposal_accepted");
    await describe(docent, urn, "All customers we know.");
    const proposer = await newProposer(browser, docent, "Ada");
    await propose(proposer, UPDATE, {
      resourceUrn: urn,
      description: "All customers we have billed.",
    });
    await page.goto(address(urn));
    await page.getByRole("link", { name: "1 proposed change" }).click();
    await expect(page).toHaveTitle("Proposals · Docent");
    const item = page.getByRole("listitem").filter({ hasText: "proposal_accepted" });
    await expect(item.locator("del")).toHaveText("know");
    await expect(item.locator("ins")).toHaveText("have billed");
    await expect(item).toContainText("by Ada");
    await page.getByRole("link", { name: /^Proposals \(\d+\)$/ }).click();
    await page.getByRole("button", { name: "Accept the proposal for proposal_accepted" }).click();
    await expect(page.getByRole("status").filter({ hasText: "was accepted" })).toBeVisible();
    await expect(item).toBeHidden();
    expect(await storedDescription(docent, urn)).toBe("All customers we have billed.");
    await page.getByRole("link", { name: "Decided" }).click();
    await expect(item).toContainText(/Proposed .* by Ada/);
    await expect(item).toContainText(/Accepted .* by/);
    await proposer.close();
  },
);

test(
  "a first edit of an imported description is compared with it",
  WRITES,
  async ({ page, browser, docent }) => {
    const urn = await createDataset(docent, "proposal_imported");
    const proposer = await newProposer(browser, docent, "Isolde");
    await propose(proposer, UPDATE, { resourceUrn: urn, description: "A better description." });
    await page.goto(`/proposals?entity=${encodeURIComponent(urn)}`);
    const item = page.getByRole("listitem").filter({ hasText: "proposal_imported" });
    await expect(item).toContainText("Compared with the imported description");
    await expect(item.locator("del")).toHaveText("An imported");
    await expect(item.locator("ins")).toHaveText("A better");
    await proposer.close();
  },
);

test(
  "a list that was requested before a decision does not show the proposal again",
  WRITES,
  async ({ page, browser, docent }) => {
    const urn = await createDataset(docent, "proposal_overtaken");
    const proposer = await newProposer(browser, docent, "Emmy");
    await propose(proposer, UPDATE, { resourceUrn: urn, description: "All rings." });
    await page.goto(`/proposals?entity=${encodeURIComponent(urn)}`);
    const item = page.getByRole("listitem").filter({ hasText: "proposal_overtaken" });
    await expect(item).toBeVisible();
    // The first request of the whole list is answered with the state of before the decision.
    let release = () => {};
    const decided = new Promise<void>((resolve) => (release = resolve));
    let isFirst = true;
    await page.route("**/api/graphql", async (route) => {
      const body = route.request().postData() ?? "";
      if (!isFirst || !body.includes("query Proposals(")) return route.continue();
      isFirst = false;
      const response = await route.fetch();
      await decided;
      // The page may have cancelled the request.
      return route.fulfill({ response }).catch(() => undefined);
    });
    await page.getByRole("link", { name: "Show all proposals" }).click();
    await page.getByRole("button", { name: "Accept the proposal for proposal_overtaken" }).click();
    await page.waitForResponse((response) => isAcceptance(response.request()));
    release();
    await expect(page.getByRole("status").filter({ hasText: "was accepted" })).toBeVisible();
    await expect(item).toBeHidden();
    await proposer.close();
  },
);

test(
  "a proposal for tags and columns names them, and is rejected with a note",
  WRITES,
  async ({ page, browser, docent }) => {
    const urn = await createDataset(docent, "proposal_rejected");
    await docent.ingest("urn:li:tag:5f2c", "tagProperties", { name: "Personal data" });
    const proposer = await newProposer(browser, docent, "Grete");
    await propose(proposer, ADD_TAG, { resourceUrn: urn, tagUrn: "urn:li:tag:5f2c" });
    await propose(proposer, UPDATE, {
      resourceUrn: urn,
      description: "Where they live.",
      subResource: "city",
      subResourceType: "DATASET_FIELD",
    });
    await page.goto(`/proposals?entity=${encodeURIComponent(urn)}`);
    const items = page.getByRole("listitem").filter({ hasText: "by Grete" });
    // The newest first.
    await expect(items.nth(0)).toContainText("Description of column city");
    await expect(items.nth(0).locator("ins")).toHaveText("Where they live.");
    await expect(items.nth(1)).toContainText("Tags");
    await expect(items.nth(1).locator("ins")).toHaveText("Personal data");
    await page.setViewportSize({ width: 375, height: 740 });
    const overflow = () =>
      page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
    expect(await overflow()).toBeLessThanOrEqual(0);
    await expectAccessible(page, "proposals");
    await items
      .nth(0)
      .getByRole("button", { name: /^Reject the proposal/ })
      .click();
    const dialog = page.getByRole("dialog", { name: /^Reject the proposal/ });
    await dialog.getByLabel("Note").fill("The city of the invoice, not the home.");
    await expectAccessible(page, "dialog");
    await dialog.getByRole("button", { name: "Reject" }).click();
    await expect(dialog).toBeHidden();
    await expect(items).toHaveCount(1);
    await page.getByRole("link", { name: "Decided" }).click();
    await expect(items).toContainText("Note: The city of the invoice, not the home.");
    await expect(items).toContainText(/Rejected .* by/);
    await proposer.close();
  },
);

test(
  "a proposal for a text that was changed meanwhile says what to do",
  WRITES,
  async ({ page, browser, docent }) => {
    const urn = await createDataset(docent, "proposal_conflict");
    const proposer = await newProposer(browser, docent, "Konrad");
    await propose(proposer, UPDATE, { resourceUrn: urn, description: "Mine." });
    await describe(docent, urn, "Theirs.");
    await page.goto(`/proposals?entity=${encodeURIComponent(urn)}`);
    await page.getByRole("button", { name: /^Accept the proposal/ }).click();
    const item = page.getByRole("listitem").filter({ hasText: "proposal_conflict" });
    await expect(item.getByRole("alert")).toContainText(
      "changed after Konrad proposed this, so it can't be accepted. Reject it",
    );
    expect(await storedDescription(docent, urn)).toBe("Theirs.");
    await proposer.close();
  },
);

test(
  "a proposer proposes in place of editing, sees the proposal, and withdraws it",
  WRITES,
  async ({ browser, docent }) => {
    const urn = await createDataset(docent, "proposal_own");
    await describe(docent, urn, "Stored.");
    const proposer = await newProposer(browser, docent, "Emil");
    const page = await proposer.newPage();
    await page.goto(address(urn));
    const notice = page.locator("[aria-live]").filter({ hasText: "waiting for approval" });

    const city = page.getByRole("row", { name: /^city/ });
    await page.getByRole("button", { name: "Propose description for column city" }).click();
    await page.keyboard.type("Where they live");
    await page.keyboard.press("Control+Enter");
    await expect(notice).toBeVisible();
    await expect(city).not.toContainText("Where they live");
    await expect(city.getByRole("link", { name: "Proposed by Emil, pending" })).toBeVisible();
    await expect(page.getByRole("link", { name: /pending$/ })).toHaveCount(1);
    await notice.getByRole("button", { name: "Close" }).click();
    await expect(notice).toBeHidden();

    const description = page.getByRole("region", { name: "Description", exact: true });
    await description.getByRole("button", { name: "Propose a description" }).click();
    await expect(page.getByRole("textbox", { name: /^Description/ })).toBeFocused();
    await page.keyboard.press("Control+A");
    await page.keyboard.type("Proposed.");
    await description.getByRole("button", { name: "Propose", exact: true }).click();
    await expect(notice).toBeVisible();
    await expect(
      description.getByRole("link", { name: "Proposed by Emil, pending" }),
    ).toBeVisible();
    await expect(page.getByText("Stored.", { exact: true })).toBeVisible();
    await expect(page.getByText("Proposed.", { exact: true })).toBeHidden();
    await expect(page.getByRole("link", { name: "2 proposed changes" })).toBeVisible();
    expect(await storedDescription(docent, urn)).toBe("Stored.");

    await notice.getByRole("link", { name: "View proposals" }).click();
    const item = page.getByRole("listitem").filter({ hasText: "Proposed." });
    await expect(notice).toBeHidden();
    await expect(item.getByRole("button", { name: /^Accept/ })).toBeHidden();
    await item.getByRole("button", { name: "Withdraw your proposal for proposal_own" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Withdraw" }).click();
    await expect(page.getByRole("status").filter({ hasText: "was withdrawn" })).toBeVisible();
    await expect(page.getByRole("link", { name: "Proposals (1)" })).toBeVisible();
    await page.getByRole("link", { name: "Decided" }).click();
    await expect(item).toContainText(/Withdrawn .* by Emil/);
    await proposer.close();
  },
);

test(
  "everybody sees which values have pending proposals, and gets to them",
  WRITES,
  async ({ page, browser, docent }) => {
    const urn = await createDataset(docent, "proposal_marks");
    await docent.ingest("urn:li:tag:marked", "tagProperties", { name: "Marked" });
    const proposer = await newProposer(browser, docent, "Olga");
    await propose(proposer, ADD_TAG, { resourceUrn: urn, tagUrn: "urn:li:tag:marked" });
    await page.goto(address(urn));
    const tags = page.getByRole("region", { name: "Tags" });
    const mark = tags.getByRole("link", { name: "Proposed by Olga, pending" });
    await expect(mark).toBeVisible();
    // Only the tags, and this user need not propose.
    await expect(page.getByRole("link", { name: /pending$/ })).toHaveCount(1);
    await expect(tags.getByRole("button", { name: "Add tag" })).toBeVisible();
    await expectAccessible(page, "marks of proposals");
    await mark.click();
    await expect(page.getByRole("listitem").filter({ hasText: "proposal_marks" })).toBeVisible();
    await proposer.close();
  },
);

test(
  "who may only propose reads so on every button of a dataset",
  WRITES,
  async ({ browser, docent }) => {
    const urn = await createDataset(docent, "proposal_buttons");
    await docent.ingest("urn:li:tag:buttons", "tagProperties", { name: "Buttons" });
    await docent.ingest(urn, "globalTags", { tags: [{ tag: "urn:li:tag:buttons" }] });
    const proposer = await newProposer(browser, docent, "Otto");
    const page = await proposer.newPage();
    await page.goto(address(urn));
    for (const name of [
      "Propose a description",
      "Propose owner",
      "Propose domain",
      "Propose tag",
      "Propose to remove tag Buttons",
      "Propose glossary term",
      "Propose link",
    ])
      await expect(page.getByRole("button", { name, exact: true })).toBeVisible();
    await expect(page.getByRole("button", { name: /^(Add|Edit|Set) / })).toHaveCount(0);
    await page.getByRole("button", { name: "More actions" }).click();
    await expect(page.getByRole("menuitem", { name: "Propose another name…" })).toBeVisible();
    await page.getByRole("menuitem", { name: "Propose deprecation…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Propose", exact: true }).click();
    await expect(dialog).toBeHidden();
    await expect(page.getByText("Deprecation saved.")).toBeHidden();
    await expect(page.getByRole("link", { name: "1 proposed change" })).toBeVisible();
    await proposer.close();
  },
);

test(
  "a domain says that proposals for it are pending",
  WRITES,
  async ({ page, browser, docent }) => {
    const urn = "urn:li:domain:proposal-domain";
    await docent.graphql(
      `mutation { createDomain(input: { id: "proposal-domain", name: "Proposed about" }) }`,
    );
    const proposer = await newProposer(browser, docent, "Ida");
    await propose(proposer, UPDATE, { resourceUrn: urn, description: "All of it." });
    await page.goto(`/domain/${urn}`);
    await page.getByRole("link", { name: "1 proposed change" }).click();
    const item = page.getByRole("listitem").filter({ hasText: "Proposed about" });
    await expect(item.locator("ins")).toHaveText("All of it.");
    await proposer.close();
  },
);

test("an empty list of proposals explains what they are", async ({ page }) => {
  const unknown = "urn:li:domain:no-proposals-here";
  await page.goto(`/proposals?entity=${unknown}`);
  await expect(page.getByText("No pending proposals")).toBeVisible();
  await page.getByRole("link", { name: "Show all proposals" }).click();
  await expect(page).toHaveURL(/\/proposals$/);
});
