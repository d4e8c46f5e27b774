// Webhooks in the settings. Events that are given up are in webhook_dead_letters.spec.ts.

import type { Page } from "@playwright/test";

import { newUser } from "./accounts.ts";
import { expectAccessible } from "./axe.ts";
import { createDataset, describe } from "./datasets.ts";
import { WRITES, expect } from "./fixtures.ts";
import { isSigned, test } from "./receiver.ts";

const button = (page: Page, name: string | RegExp) =>
  page.getByRole("button", { name, exact: true });

/** Refreshes the page until a state is shown: the server stores it twice a second. */
async function expectState(page: Page, state: string): Promise<void> {
  await expect(async () => {
    await button(page, "Refresh").click();
    await expect(page.locator(".run-status")).toHaveText(state, { timeout: 1_000 });
  }).toPass({ timeout: 40_000 });
}

/** Checks the page in both themes, which differ only in their colors. */
async function expectAccessibleInThemes(page: Page, name: string): Promise<void> {
  await expectAccessible(page, name);
  await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
  await expectAccessible(page, `${name}, dark`, "color-contrast");
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
}

test(
  "a webhook is created, tested, fed, fails, recovers, is paused, changed and deleted",
  WRITES,
  async ({ page, context, docent, receiver }) => {
    test.setTimeout(240_000);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const urn = await createDataset(docent, "story_webhook");
    await page.goto("/settings/webhooks");
    await expect(page.getByText("No webhooks yet")).toBeVisible();
    await expect(page.getByText("copy its secret to the receiver")).toBeVisible();
    await button(page, "New webhook").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name", { exact: true }).fill("Story receiver");
    await dialog.getByLabel("Address of the receiver").fill(receiver.url);
    await dialog.getByLabel("Entity types", { exact: true }).fill("dataset");
    await page.keyboard.press("Enter");
    await expect(button(page, "Remove dataset")).toBeVisible();
    // Also without Enter.
    await dialog.getByLabel("Aspects", { exact: true }).fill("editableDatasetProperties");
    await expectAccessibleInThemes(page, "new webhook");
    await button(page, "Create").click();

    await expect(dialog).toHaveAccessibleName("Secret of Story receiver");
    await expect(dialog.getByText("You won't be able to see it again.")).toBeVisible();
    const secret = await dialog.getByTestId("secret").innerText();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{42,}=*$/);
    await button(page, "Copy secret").click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(secret);
    await expectAccessibleInThemes(page, "secret of a webhook");
    await button(page, "Done").click();
    const heading = page.getByRole("heading", { level: 3 }).first();
    await expect(heading).toHaveText("Story receiver");
    await expect(page.getByText("whsec_")).toHaveCount(0);
    await page.reload();
    await expect(heading).toHaveText("Story receiver");
    await expect(page.getByText("whsec_")).toHaveCount(0);

    await button(page, "Send a test event").click();
    await expect(page.getByText(/The receiver accepted the test event after \d+ ms/)).toBeVisible();
    await expect(button(page, "Send a test event")).toBeFocused();
    const tests = receiver.accepted("docent.webhook.test");
    expect(tests.map((message) => isSigned(message, secret))).toEqual([true]);

    await describe(docent, urn, "For the receiver");
    const change = await receiver.change(1);
    expect(isSigned(change, secret)).toBe(true);
    expect(JSON.parse(change.body)).toMatchObject({
      subject: urn,
      aspect: "editableDatasetProperties",
      data: { value: { description: "For the receiver" } },
    });
    await expectState(page, "Active");

    receiver.fail();
    await describe(docent, urn, "Not accepted at first");
    await expectState(page, "Failing");
    await expect(page.getByText("The receiver returned the status 500.")).toBeVisible();
    await expect(page.getByText("The next attempt follows soon.")).toBeVisible();
    await expect(page.getByRole("definition").filter({ hasText: /^1 change/ })).toBeVisible();
    await button(page, "Send a test event").click();
    await expect(page.getByRole("alert")).toHaveText(
      "The test event was not accepted: the receiver returned the status 500.",
    );
    await expectAccessibleInThemes(page, "a webhook that fails");
    await page.getByRole("link", { name: "All webhooks" }).click();
    const row = page.getByRole("row").filter({ hasText: "Story receiver" });
    await expect(row).toContainText("Failing");
    await expect(row).toContainText("The receiver returned the status 500.");
    await expect(row).toContainText(receiver.url);
    await expectAccessibleInThemes(page, "the list of webhooks");
    await row.getByRole("link", { name: "Story receiver" }).click();
    receiver.recover();
    await receiver.change(2);
    await expectState(page, "Active");

    await button(page, "Edit Story receiver").click();
    await expect(button(page, "Remove editableDatasetProperties")).toBeVisible();
    await dialog.getByLabel("Name", { exact: true }).fill("Other receiver");
    // An edit that was begun before leaves it paused.
    const other = await page.context().newPage();
    await other.goto(page.url());
    await button(other, "Pause Story receiver").click();
    await expect(other.getByText("Story receiver is paused.")).toBeVisible();
    await expect(other.locator(".run-status")).toHaveText("Paused");
    await other.close();
    await describe(docent, urn, "While it is paused");
    await button(page, "Save").click();
    await expect(page.getByText("Other receiver is saved.")).toBeVisible();
    await expect(heading).toHaveText("Other receiver");
    await expect(page.locator(".run-status")).toHaveText("Paused");
    expect(receiver.accepted("docent.aspect.changed")).toHaveLength(2);
    await button(page, "Resume Other receiver").click();
    await expect(page.getByText("Other receiver sends events again.")).toBeVisible();
    const missed = await receiver.change(3);
    expect(missed.body).toContain("While it is paused");
    expect(isSigned(missed, secret)).toBe(true);

    await button(page, "New secret for Other receiver").click();
    await button(page, "Replace secret").click();
    const replaced = await dialog.getByTestId("secret").innerText();
    expect(replaced).toMatch(/^whsec_/);
    expect(replaced).not.toBe(secret);
    await button(page, "Done").click();
    await button(page, "Send a test event").click();
    await expect(page.getByText(/The receiver accepted the test event/)).toBeVisible();
    const last = receiver.accepted("docent.webhook.test").at(-1)!;
    expect(isSigned(last, replaced)).toBe(true);
    expect(isSigned(last, secret)).toBe(false);

    await button(page, "Delete Other receiver").click();
    await expect(dialog.getByText("This can't be undone.")).toBeVisible();
    await button(page, "Delete").click();
    await expect(page.getByText("No webhooks yet")).toBeVisible();
  },
);

test(
  "what the server rejects is shown at the field, and the filters are shown by their names",
  WRITES,
  async ({ page, docent }) => {
    await page.goto("/settings/webhooks");
    await button(page, "New webhook").focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "New webhook" });
    const name = dialog.getByLabel("Name", { exact: true });
    const url = dialog.getByLabel("Address of the receiver");
    await expect(name).toBeFocused();
    await page.keyboard.press("Enter");
    await expect(dialog.getByRole("alert")).toHaveText("Enter a name.");
    await page.keyboard.type("Picky receiver");
    await page.keyboard.press("Enter");
    await expect(dialog.getByRole("alert")).toHaveText("Enter the address of the receiver.");
    await expect(url).toBeFocused();
    await page.keyboard.type("not an address");
    await page.keyboard.press("Enter");
    await expect(dialog.getByRole("alert")).toContainText(
      "'not an address' is not the address of a receiver",
    );
    await expect(url).toBeFocused();
    await expect(url).toHaveAccessibleDescription(/is not the address of a receiver/);
    await url.fill("http://10.1.2.3/events");
    await page.keyboard.press("Enter");
    await expect(dialog.getByRole("alert")).toContainText(
      "10.1.2.3 is not a public address: start the server with --webhook-allow-private",
    );
    await expectAccessible(page, "a rejected webhook");
    await url.fill("https://receiver.example/events");
    const aspects = dialog.getByLabel("Aspects", { exact: true });
    await aspects.fill("globalTags, labels");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Control+Enter");
    await expect(dialog.getByRole("alert")).toContainText("There is no aspect 'labels'");
    await expect(aspects).toBeFocused();
    await button(page, "Remove labels").click();

    const picker = page.getByRole("dialog", { name: "Add domain" });
    await dialog.getByRole("button", { name: "Add domain" }).click();
    await picker.getByRole("combobox").fill("Finance");
    await picker.getByRole("option", { name: "Finance", exact: true }).click();
    await expect(picker).toBeHidden();
    await expect(dialog.getByRole("button", { name: "Add domain" })).toBeFocused();
    await dialog.getByLabel("Format").selectOption("Messages of DataHub's topics");
    await button(page, "Create").click();
    await expect(page.getByTestId("secret")).toBeVisible();
    await page.keyboard.press("Escape");
    await expect(page.getByRole("link", { name: "Finance", exact: true })).toBeVisible();
    await expect(page.getByText("globalTags")).toBeVisible();
    await expect(page.getByText("Messages of DataHub's topics")).toBeVisible();
    await expect(page.getByText("No dead letters.")).toBeVisible();

    const { listWebhooks } = await docent.graphql<{ listWebhooks: ReadonlyArray<{ urn: string }> }>(
      "{ listWebhooks { urn filter { aspects domains } format } }",
    );
    expect(listWebhooks).toEqual([
      {
        urn: expect.stringContaining("urn:li:docentWebhook:"),
        filter: { aspects: ["globalTags"], domains: ["urn:li:domain:finance"] },
        format: "DATAHUB",
      },
    ]);
    const urn = listWebhooks[0]!.urn;
    await docent.graphql("mutation ($urn: String!) { deleteWebhook(urn: $urn) }", { urn });
    await page.reload();
    await expect(page.getByText("This webhook does not exist.")).toBeVisible();
  },
);

test("users without the privilege see no webhooks", WRITES, async ({ browser, docent }) => {
  const context = await newUser(browser, docent, "Webster", "Reader");
  const page = await context.newPage();
  await page.goto("/settings/webhooks");
  await expect(page.getByText("You don't have the privilege for this page.")).toBeVisible();
  await expect(page.getByRole("link", { name: "Webhooks" })).toHaveCount(0);
  await context.close();
});
