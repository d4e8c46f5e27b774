import { WRITES, expect, test } from "./docent.ts";

test("a token is made, shown once, works, and is revoked", WRITES, async ({ page, docent }) => {
  await page.goto("/settings/tokens");
  await page.getByRole("button", { name: "New token" }).click();
  const dialog = page.getByRole("dialog", { name: "New token" });
  await dialog.getByRole("button", { name: "Create" }).click();
  await expect(dialog.getByRole("alert")).toHaveText("Enter a name.");
  await dialog.getByLabel("Name").fill("nightly ingestion");
  await dialog.getByLabel("Expires after").selectOption("7 days");
  await dialog.getByRole("button", { name: "Create" }).click();
  await expect(dialog).toContainText("it is not shown again");
  const token = await dialog.getByTestId("secret").innerText();
  const answered = async () => {
    const reply = await fetch(`${docent.address}/api/graphql`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
      body: JSON.stringify({ query: "{ me { corpUser { urn } } }" }),
    });
    return reply.status;
  };
  await dialog.getByRole("button", { name: "Copy" }).click();
  await expect(dialog.getByText("Copied")).toBeVisible();
  await dialog.getByRole("button", { name: "Done" }).click();
  const line = page.getByRole("row", { name: /nightly ingestion/ });
  await expect(line.getByRole("cell", { name: "never" })).toBeVisible();
  expect(await answered()).toBe(200);
  await page.reload();
  const used = line.getByRole("cell").nth(2).getByRole("time");
  await expect(used).toHaveText(/minute/);
  await expect(used).toHaveAttribute("title", /\d{4}, \d+:\d\d/);
  await expect(page.getByText(token)).toBeHidden();
  await page.getByRole("button", { name: "New token" }).click();
  await dialog.getByLabel("Name").fill("nightly ingestion");
  await expect(dialog.getByRole("status")).toContainText("You have a token called “nightly ingestion” already.");
  await dialog.getByLabel("Name").fill("");
  await page.keyboard.press("Escape");
  await line.getByRole("button", { name: /^Revoke the token nightly ingestion, created .*\d{4}/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  // An open dialog hides everything else, so that comes first.
  await expect(page.getByRole("dialog")).toBeHidden();
  await expect(line).toBeHidden();
  expect(await answered()).toBe(401);
});

test("a token that somebody else made for me is mine to see", async ({ page }) => {
  await page.goto("/settings/tokens");
  // The program made it when it started, and the stories use it.
  const line = page.getByRole("row", { name: /^demo/ });
  await expect(line.getByRole("button", { name: /^Revoke the token demo/ })).toBeVisible();
  await expect(page.getByText("You have no tokens.")).toBeHidden();
});

test("administrators see everybody, and find somebody", async ({ page }) => {
  await page.goto("/settings/users");
  await expect(page.getByRole("row", { name: /Finance Controller/ })).toBeVisible();
  await expect(page.getByRole("row", { name: /DataHub/ })).toContainText("with a password");
  await page.getByLabel("Find people").fill("controller");
  await expect(page.getByRole("row", { name: /Finance Controller/ })).toBeVisible();
  await expect(page.getByRole("row", { name: /DataHub/ })).toBeHidden();
});

test("dark and light can be chosen and are kept", async ({ page }) => {
  const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  await page.goto("/settings/appearance");
  const light = await background();
  await page.getByLabel("Dark").check();
  await expect.poll(background).not.toBe(light);
  await page.reload();
  await expect(page.getByLabel("Dark")).toBeChecked();
  expect(await background()).not.toBe(light);
});

test("keys of one letter can be turned off, and stay so", async ({ page }) => {
  const keys = page.getByRole("dialog", { name: "Keys" });
  const box = page.getByRole("combobox", { name: "Search the catalog" });
  await page.goto("/settings/appearance");
  await page.getByLabel(/Keys of one letter/).uncheck();
  await page.goto("/domains");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  for (const key of ["?", "/", "g", "h"]) {
    await page.keyboard.press(key);
    await expect(keys).toBeHidden();
    await expect(box).not.toBeFocused();
  }
  expect(new URL(page.url()).pathname).toBe("/domains");
  await page.keyboard.press("Control+k");
  await expect(box).toBeFocused();
  await page.getByRole("button", { name: "Keys" }).click();
  await expect(keys).toContainText("are turned off");
  await page.goto("/settings/appearance");
  await page.getByLabel(/Keys of one letter/).check();
  await page.goto("/domains");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("?");
  await expect(keys).toBeVisible();
  await expect(keys).not.toContainText("are turned off");
});

test("more tokens than a page holds are on the next one", async ({ page, docent }) => {
  const actor = "urn:li:corpuser:datahub";
  for (let start = 0; start < 105; start += 35) {
    const made = Array.from(
      { length: 35 },
      (_, place) =>
        `t${place}: createAccessToken(input: { type: PERSONAL, actorUrn: "${actor}", duration: ONE_HOUR, name: "one of many ${start + place}" }) { accessToken }`,
    );
    await docent.ask(`mutation { ${made.join(" ")} }`);
  }
  await page.goto("/settings/tokens");
  await expect(page.getByText(/^1–100 of 1\d\d$/)).toBeVisible();
  await page.getByRole("link", { name: "Next" }).click();
  await expect(page).toHaveURL(/\/settings\/tokens\?page=2$/);
  await expect(page.getByText(/^101–1\d\d of 1\d\d$/)).toBeVisible();
});

test("the GraphQL explorer answers as the person who is signed in, without anything from elsewhere", async ({
  page,
  docent,
}) => {
  const elsewhere: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(docent.address) && !request.url().startsWith("data:")) elsewhere.push(request.url());
  });
  await page.goto("/graphiql");
  await expect(page.locator(".graphiql-query-editor")).toContainText("searchAcrossEntities");
  await page.getByRole("button", { name: /Execute query/ }).click();
  await expect(page.locator(".result-window")).toContainText("urn:li:dataset");
  expect(elsewhere).toEqual([]);
});
