import { WRITES, expect, test } from "./fixtures.ts";

test("a token is created, shown once, works, and is revoked", WRITES, async ({ page, docent }) => {
  await page.goto("/settings/tokens");
  await page.getByRole("button", { name: "New token" }).click();
  const dialog = page.getByRole("dialog", { name: "New token" });
  await dialog.getByRole("button", { name: "Create" }).click();
  await expect(dialog.getByRole("alert")).toHaveText("Enter a name.");
  await dialog.getByLabel("Name").fill("nightly ingestion");
  await dialog.getByLabel("Expiration").selectOption("7 days");
  await dialog.getByRole("button", { name: "Create" }).click();
  await expect(dialog).toContainText("You won't be able to see it again");
  const token = await dialog.getByTestId("secret").innerText();
  const requestStatus = async () => {
    const reply = await fetch(`${docent.address}/api/graphql`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
      body: JSON.stringify({ query: "{ me { corpUser { urn } } }" }),
    });
    return reply.status;
  };
  await dialog.getByRole("button", { name: "Copy token" }).click();
  await expect(dialog.getByText("Copied")).toBeVisible();
  await dialog.getByRole("button", { name: "Done" }).click();
  const row = page.getByRole("row", { name: /nightly ingestion/ });
  await expect(row.getByRole("cell", { name: "Never" })).toBeVisible();
  expect(await requestStatus()).toBe(200);
  await page.reload();
  const used = row.getByRole("cell").nth(2).getByRole("time");
  await expect(used).toHaveText("just now");
  await expect(used).toHaveAttribute("title", /\d{4}, \d+:\d\d/);
  await expect(page.getByText(token)).toBeHidden();
  await page.getByRole("button", { name: "New token" }).click();
  await dialog.getByLabel("Name").fill("nightly ingestion");
  await expect(dialog.getByRole("status")).toContainText(
    "You already have a token named “nightly ingestion”.",
  );
  await dialog.getByLabel("Name").fill("");
  await page.keyboard.press("Escape");
  await row
    .getByRole("button", { name: /^Revoke token nightly ingestion, created .*\d{4}/ })
    .click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  // An open dialog hides everything else from the accessibility tree, so wait for it first.
  await expect(page.getByRole("dialog")).toBeHidden();
  await expect(row).toBeHidden();
  expect(await requestStatus()).toBe(401);
});

test("a token that another user created for me is listed", async ({ page }) => {
  await page.goto("/settings/tokens");
  // The server created it at startup, and these tests use it.
  const row = page.getByRole("row", { name: /^demo/ });
  await expect(row.getByRole("button", { name: /^Revoke token demo/ })).toBeVisible();
  await expect(page.getByText("No access tokens yet")).toBeHidden();
});

test("administrators see all users and can search them", async ({ page }) => {
  await page.goto("/settings/users");
  await expect(page.getByRole("row", { name: /Finance Controller/ })).toBeVisible();
  await expect(page.getByRole("row", { name: /DataHub/ })).toContainText("Yes");
  await page.getByLabel("Find users").fill("controller");
  await expect(page.getByRole("row", { name: /Finance Controller/ })).toBeVisible();
  await expect(page.getByRole("row", { name: /DataHub/ })).toBeHidden();
});

test("the theme can be chosen and is remembered", async ({ page }) => {
  const background = () =>
    page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  await page.goto("/settings/appearance");
  const light = await background();
  await page.getByLabel("Dark").check();
  await expect.poll(background).not.toBe(light);
  await page.reload();
  await expect(page.getByLabel("Dark")).toBeChecked();
  expect(await background()).not.toBe(light);
});

test("single-key shortcuts can be turned off and stay off", async ({ page }) => {
  const shortcuts = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  const box = page.getByRole("combobox", { name: "Search the catalog" });
  await page.goto("/settings/appearance");
  await page.getByLabel(/single-key shortcuts/).uncheck();
  await page.goto("/domains");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  for (const key of ["?", "/", "g", "h"]) {
    await page.keyboard.press(key);
    await expect(shortcuts).toBeHidden();
    await expect(box).not.toBeFocused();
  }
  expect(new URL(page.url()).pathname).toBe("/domains");
  await page.keyboard.press("Control+k");
  await expect(box).toBeFocused();
  await expect(shortcuts).toBeHidden();
  await expect(page).toHaveURL(/\/domains$/);
  await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
  await expect(shortcuts).toContainText("are turned off");
  await page.goto("/settings/appearance");
  await page.getByLabel(/single-key shortcuts/).check();
  await page.goto("/domains");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("?");
  await expect(shortcuts).toBeVisible();
  await expect(shortcuts).not.toContainText("are turned off");
});

test("the list of tokens is paginated", async ({ page, docent }) => {
  const actor = "urn:li:corpuser:datahub";
  for (let start = 0; start < 70; start += 35) {
    const mutations = Array.from(
      { length: 35 },
      (_, index) =>
        `t${index}: createAccessToken(input: { type: PERSONAL, actorUrn: "${actor}", duration: ONE_HOUR, name: "one of many ${start + index}" }) { accessToken }`,
    );
    await docent.graphql(`mutation { ${mutations.join(" ")} }`);
  }
  await page.goto("/settings/tokens");
  await expect(page.getByText(/^1–50 of \d\d$/)).toBeVisible();
  await page.getByRole("link", { name: "Next" }).click();
  await expect(page).toHaveURL(/\/settings\/tokens\?page=2$/);
  await expect(page.getByText(/^51–\d\d of \d\d$/)).toBeVisible();
});

test("the GraphQL explorer runs queries as the current user and loads nothing from other hosts", async ({
  page,
  docent,
}) => {
  const external: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(docent.address) && !request.url().startsWith("data:"))
      external.push(request.url());
  });
  await page.goto("/graphiql");
  await expect(page.locator(".graphiql-query-editor")).toContainText("searchAcrossEntities");
  await page.getByRole("button", { name: /Execute query/ }).click();
  await expect(page.locator(".result-window")).toContainText("urn:li:dataset");
  expect(external).toEqual([]);
});

test(
  "an invited user signs up, changes the password, and signs out everywhere",
  WRITES,
  async ({ page, browser, docent }) => {
    await page.goto("/settings/users");
    await page.getByRole("button", { name: "Invite users" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Role").selectOption("Reader");
    await dialog.getByRole("button", { name: "Create link" }).click();
    const link = await dialog.getByTestId("secret").innerText();
    expect(link).toContain(`${docent.address}/signup?invite_token=`);

    const context = await browser.newContext();
    const other = await context.newPage();
    await other.goto(link.slice(0, -1));
    await expect(other.getByRole("alert")).toContainText("The invite link is invalid");
    await expect(other.getByLabel("Full name")).toHaveCount(0);
    await other.goto(link);
    await other.getByLabel("Full name").fill("Grace Hopper");
    await other.getByLabel("Email").fill("grace@example.com");
    await other.getByLabel("New password", { exact: true }).fill("Password2026!");
    await other.getByLabel("Repeat new password").fill("two uncommon words");
    await other.getByRole("button", { name: "Create account" }).click();
    await expect(other.getByRole("alert")).toHaveText("The two passwords are different.");
    await other.getByLabel("Repeat new password").fill("Password2026!");
    await other.getByRole("button", { name: "Create account" }).click();
    await expect(other.getByRole("alert")).toContainText("easy to guess");
    await other.getByLabel("New password", { exact: true }).fill("two uncommon words");
    await other.getByLabel("Repeat new password").fill("two uncommon words");
    await other.getByRole("button", { name: "Create account" }).click();
    await expect(
      other.getByRole("button", { name: "Account menu for Grace Hopper" }),
    ).toBeVisible();

    await other.goto(`${docent.address}/settings/account`);
    await other.getByLabel("Current password").fill("wrong");
    await other.getByLabel("New password", { exact: true }).fill("three other words");
    await other.getByLabel("Repeat new password").fill("three other words");
    await other.getByRole("button", { name: "Change password" }).click();
    await expect(other.getByRole("alert")).toHaveText("The current password is wrong.");
    await other.getByLabel("Current password").fill("two uncommon words");
    await other.getByRole("button", { name: "Change password" }).click();
    await expect(other.getByText("Your password has been changed.")).toBeVisible();
    await other.getByRole("button", { name: "Sign out everywhere" }).click();
    await expect(other.getByLabel("Password", { exact: true })).toBeVisible();

    await page.goto("/settings/users?query=grace");
    await page.getByRole("button", { name: "Create a reset link for Grace Hopper" }).click();
    const reset = await page.getByRole("dialog").getByTestId("secret").innerText();
    await other.goto(reset);
    await other.getByLabel("Username").fill("grace@example.com");
    await other.getByLabel("New password", { exact: true }).fill("four entirely new words");
    await other.getByLabel("Repeat new password").fill("four entirely new words");
    await other.getByRole("button", { name: "Set password" }).click();
    await expect(
      other.getByRole("button", { name: "Account menu for Grace Hopper" }),
    ).toBeVisible();
    await context.close();
  },
);
