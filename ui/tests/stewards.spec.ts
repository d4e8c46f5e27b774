import { newUser } from "./accounts.ts";
import { expectAccessible } from "./axe.ts";
import { WRITES, expect, test } from "./fixtures.ts";

test(
  "an administrator adds a steward, who can then edit the domain, and removes them",
  WRITES,
  async ({ page, browser, docent }) => {
    await docent.graphql(
      `mutation { createDomain(input: { id: "steward-domain", name: "Stewarded" }) }`,
    );
    const address = "/domain/urn:li:domain:steward-domain";
    const context = await newUser(browser, docent, "Stewart", "Reader");
    const reader = await context.newPage();
    await reader.goto(address);
    await expect(reader.getByRole("heading", { level: 1 })).toHaveText("Stewarded");
    const edit = reader.getByRole("button", { name: /^(Add|Edit) description/ });
    await expect(edit).toBeHidden();
    await expect(reader.getByRole("heading", { name: "Stewards" })).toBeHidden();

    await page.goto(address);
    const section = page.getByRole("region", { name: "Stewards" });
    await expect(section).toContainText("No stewards yet");
    await section.getByRole("button", { name: "Add steward" }).click();
    const dialog = page.getByRole("dialog", { name: "Add a steward to Stewarded" });
    await expect(dialog.getByRole("combobox")).toBeFocused();
    await dialog.getByRole("combobox").fill("stewart");
    // The demo has a user named Data Steward, who is a worse match.
    const first = dialog.getByRole("option").first();
    await expect(first).toHaveText("Stewart");
    await expect(first).toHaveAttribute("aria-selected", "true");
    await expectAccessible(page, "dialog");
    await page.keyboard.press("Enter");
    await expect(dialog).toBeHidden();
    await expect(section.getByRole("listitem")).toHaveText([/Stewart$/]);
    await expect(section.getByRole("status")).toContainText("Stewart is now a steward.");

    await reader.reload();
    await expect(edit).toBeVisible();
    await expect(reader.getByRole("region", { name: "Stewards" })).toContainText("Stewart");
    await expect(reader.getByRole("button", { name: "Add steward" })).toBeHidden();

    await page.setViewportSize({ width: 375, height: 740 });
    await expectAccessible(page, "section on a phone");
    await section.getByRole("button", { name: "Remove steward Stewart" }).click();
    await expect(section.getByRole("listitem")).toHaveCount(0);
    await section.getByRole("button", { name: "Undo" }).click();
    await expect(section.getByRole("listitem")).toHaveText([/Stewart$/]);
    await section.getByRole("button", { name: "Remove steward Stewart" }).click();
    await expect(section.getByRole("status")).toContainText("Stewart is no longer a steward.");
    await reader.reload();
    await expect(reader.getByRole("heading", { level: 1 })).toHaveText("Stewarded");
    await expect(edit).toBeHidden();
    await context.close();
  },
);

test("a steward is listed once, and groups are named as such", WRITES, async ({ page, docent }) => {
  await docent.graphql(
    `mutation { createDomain(input: { id: "steward-groups", name: "Grouped" }) createGroup(input: { id: "night-owls", name: "Night owls" }) }`,
  );
  await page.goto("/domain/urn:li:domain:steward-groups");
  const section = page.getByRole("region", { name: "Stewards" });
  const dialog = page.getByRole("dialog");
  await section.getByRole("button", { name: "Add steward" }).click();
  await dialog.getByRole("combobox").fill("night owls");
  await dialog.getByRole("option", { name: "Night owls" }).click();
  await expect(section.getByRole("listitem")).toContainText(/Night owls\s*Group/);
  await section.getByRole("button", { name: "Add steward" }).click();
  await dialog.getByRole("combobox").fill("night owls");
  await expect(dialog.getByRole("option", { name: "Night owls" })).toBeDisabled();
  await dialog.getByRole("combobox").fill("zzyzx");
  await expect(dialog).toContainText("No users or groups match “zzyzx”");
});
