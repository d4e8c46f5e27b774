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
  await line.getByRole("button", { name: "Revoke the token nightly ingestion" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  // An open dialog hides everything else, so that comes first.
  await expect(page.getByRole("dialog")).toBeHidden();
  await expect(line).toBeHidden();
  expect(await answered()).toBe(401);
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
