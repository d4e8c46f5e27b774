// Events that a receiver has not accepted for so long that the webhook gave up.

import type { Page } from "@playwright/test";

import { expectAccessible } from "./axe.ts";
import { createDataset, describe } from "./datasets.ts";
import { WRITES, expect, type Docent } from "./fixtures.ts";
import { isSigned, test, type Receiver } from "./receiver.ts";

// An event is a dead letter when its second attempt fails, after five seconds.
test.use({ serverSettings: { "webhook-retry": "1s" } });

interface Created {
  readonly urn: string;
  readonly secret: string;
}

async function createWebhook(docent: Docent, receiver: Receiver, name: string): Promise<Created> {
  const filter = { aspects: ["editableDatasetProperties"] };
  const reply = await docent.graphql<{ createWebhook: Created }>(
    "mutation ($input: WebhookInput!) { createWebhook(input: $input) { urn secret } }",
    { input: { name, url: receiver.url, filter } },
  );
  return reply.createWebhook;
}

const deadLetters = (page: Page) => page.getByRole("region", { name: "Dead letters" });
const rowsOf = (page: Page) =>
  deadLetters(page).getByRole("row").filter({ hasText: "story_letter" });

/** Opens a webhook, and waits until it has given up its two events. */
async function openWithLetters(page: Page, { urn }: Created): Promise<void> {
  await page.goto(`/settings/webhooks?webhook=${urn}`);
  await expect(async () => {
    await page.getByRole("button", { name: "Refresh" }).click();
    await expect(rowsOf(page)).toHaveCount(2, { timeout: 1_000 });
  }).toPass({ timeout: 90_000 });
}

test(
  "dead letters are shown with their reason, replayed and discarded",
  WRITES,
  async ({ page, docent, receiver }) => {
    test.setTimeout(150_000);
    const [a, b] = [
      await createDataset(docent, "story_letter_a"),
      await createDataset(docent, "story_letter_b"),
    ];
    const created = await createWebhook(docent, receiver, "Lost receiver");
    receiver.fail();
    for (const urn of [a, b]) await describe(docent, urn, `About ${urn}`);
    await openWithLetters(page, created);
    const letters = deadLetters(page);
    const rows = rowsOf(page);
    const first = rows.filter({ hasText: "story_letter_a" });
    await expect(first).toContainText("editableDatasetProperties");
    await expect(first).toContainText("The receiver returned the status 500.");
    await expectAccessible(page, "dead letters");
    await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
    await expectAccessible(page, "dead letters, dark", "color-contrast");

    const dialog = page.getByRole("dialog");
    await first.getByRole("button", { name: /^Show/ }).click();
    await expect(dialog).toContainText(`"description": "About ${a}"`);
    await expectAccessible(page, "an event that is a dead letter");
    await page.keyboard.press("Escape");

    await first.getByRole("button", { name: /^Replay/ }).click();
    await expect(letters.getByRole("alert")).toHaveText(
      "The receiver did not accept the event: the receiver returned the status 500.",
    );
    await expect(rows).toHaveCount(2);

    receiver.recover();
    await first.getByRole("button", { name: /^Replay/ }).click();
    await expect(letters.getByText("1 event is delivered.")).toBeVisible();
    await expect(rows).toHaveCount(1);
    await expect(letters.getByRole("alert")).toHaveCount(0);
    await expect(page.getByRole("heading", { name: "Dead letters" })).toBeFocused();
    const replayed = await receiver.change(1);
    expect(isSigned(replayed, created.secret)).toBe(true);
    expect(JSON.parse(replayed.body)).toMatchObject({ subject: a });

    const discard = rows.getByRole("button", { name: /^Discard/ });
    await discard.click();
    await expect(dialog).toContainText("This can't be undone.");
    await expectAccessible(page, "discarding a dead letter");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await expect(rows).toHaveCount(1);
    await discard.click();
    await dialog.getByRole("button", { name: "Discard" }).click();
    await expect(letters.getByText("1 event is discarded.")).toBeVisible();
    await expect(letters.getByText("No dead letters.")).toBeVisible();
    expect(receiver.accepted("docent.aspect.changed")).toHaveLength(1);

    await page.getByRole("button", { name: "Delete Lost receiver" }).click();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(page.getByText("No webhooks yet")).toBeVisible();
  },
);

test(
  "all dead letters are replayed or discarded at once",
  WRITES,
  async ({ page, docent, receiver }) => {
    test.setTimeout(150_000);
    const urns = [
      await createDataset(docent, "story_letter_c"),
      await createDataset(docent, "story_letter_d"),
    ];
    const replayed = await createWebhook(docent, receiver, "Replayed");
    const discarded = await createWebhook(docent, receiver, "Discarded");
    receiver.fail();
    for (const urn of urns) await describe(docent, urn, "Lost at first");
    await openWithLetters(page, replayed);
    await openWithLetters(page, discarded);
    receiver.recover();
    const letters = deadLetters(page);
    const dialog = page.getByRole("dialog");
    await letters.getByRole("button", { name: "Discard all…" }).click();
    await expect(dialog).toHaveAccessibleName("Discard 2 dead letters?");
    await dialog.getByRole("button", { name: "Discard" }).click();
    await expect(letters.getByText("2 events are discarded.")).toBeVisible();
    await expect(letters.getByText("No dead letters.")).toBeVisible();

    await openWithLetters(page, replayed);
    await letters.getByRole("button", { name: "Replay all" }).click();
    await expect(letters.getByText("2 events are delivered.")).toBeVisible();
    await expect(letters.getByText("No dead letters.")).toBeVisible();
    await receiver.change(2);

    await page.getByRole("button", { name: "Delete Replayed" }).click();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("link", { name: "Discarded" }).click();
    await page.getByRole("button", { name: "Delete Discarded" }).click();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(page.getByText("No webhooks yet")).toBeVisible();
  },
);
