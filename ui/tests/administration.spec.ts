// What administrators do in the settings, except for accounts (settings.spec.ts) and the audit log.

import { newUser } from "./accounts.ts";
import { expectAccessible } from "./axe.ts";
import { WRITES, expect, test, type Docent } from "./fixtures.ts";

const link = (name: string) => ({ name, exact: true });

async function createPolicy(docent: Docent, input: Record<string, unknown>): Promise<string> {
  const reply = await docent.graphql<{ createPolicy: string }>(
    "mutation ($input: PolicyUpdateInput!) { createPolicy(input: $input) }",
    { input },
  );
  return reply.createPolicy;
}

test(
  "a policy is written as a sentence, grants its right, and is undone and deleted",
  WRITES,
  async ({ page, browser, docent }) => {
    await docent.graphql(
      `mutation { createDomain(input: { id: "policy-domain", name: "Policed" }) }`,
    );
    const context = await newUser(browser, docent, "Polly", "Reader");
    const reader = await context.newPage();
    const edit = reader.getByRole("button", { name: /^(Add|Edit) description/ });
    await page.goto("/settings/policies");
    await page.getByRole("link", link("New policy")).click();
    const sentence = page.getByTestId("sentence");
    await expect(sentence).toHaveText("This policy grants nothing yet.");
    await page.getByRole("button", link("Create")).click();
    await expect(page.getByRole("alert")).toHaveText("Enter a name.");
    await expect(page.getByLabel("Name", { exact: true })).toBeFocused();
    await page.getByLabel("Name", { exact: true }).fill("Polly edits");
    await page.getByRole("button", link("Create")).click();
    await expect(page.getByRole("alert")).toBeInViewport();
    await expect(
      page.getByRole("group", { name: "What they may do" }).getByRole("searchbox"),
    ).toBeFocused();
    await page.getByRole("button", link("Add user or group")).click();
    await page.getByRole("dialog").getByRole("combobox").fill("polly");
    await page.getByRole("dialog").getByRole("option", { name: "Polly" }).click();
    await page.getByLabel("Edit everything").check();
    await expect(sentence).toHaveText("Polly may edit everything.");
    await page.getByLabel("Only on assets that meet all conditions").check();
    await expect(sentence).toHaveText("Polly may edit nothing.");
    await page.getByRole("button", link("Create")).click();
    await expect(page.getByRole("alert")).toContainText("Every condition needs a value.");
    await expect(page.getByRole("button", link("Add value"))).toBeFocused();
    await page.getByRole("button", link("Add value")).click();
    await page.getByRole("dialog").getByRole("combobox").fill("Policed");
    await page.getByRole("dialog").getByRole("option", { name: "Policed" }).click();
    await expect(sentence).toHaveText(
      "Polly may edit everything in Policed, including subdomains.",
    );
    await expectAccessible(page, "policy form");
    await page.getByRole("button", link("Create")).click();

    await page.getByLabel("Find policies").fill("polly");
    const policy = page.getByRole("list", { name: "Policies" }).getByRole("listitem");
    await expect(policy).toHaveCount(1);
    await expect(policy).toContainText("Polly may edit everything in Policed");
    await reader.goto("/domain/urn:li:domain:policy-domain");
    await expect(edit).toBeVisible();

    await page.getByRole("button", { name: "More actions for policy Polly edits" }).click();
    await page.getByRole("menuitem", { name: "Deactivate" }).click();
    await expect(policy).toContainText("Inactive");
    await reader.reload();
    await expect(reader.getByRole("heading", { level: 1 })).toHaveText("Policed");
    await expect(edit).toBeHidden();
    await page.getByRole("button", link("Undo")).click();
    await expect(policy).not.toContainText("Inactive");

    await page.getByRole("link", { name: "Edit policy Polly edits" }).click();
    await page.getByLabel("View the page").check();
    await page.getByLabel("Comparison").selectOption("is none of");
    await expect(sentence).toHaveText(
      "Polly may edit and view everything not in Policed, including subdomains.",
    );
    await page.getByRole("button", link("Save")).click();
    await expect(policy).toContainText("not in Policed");
    await page.getByRole("button", link("Undo")).click();
    await expect(policy).toContainText("Polly may edit everything in Policed");

    await page.getByRole("button", { name: "More actions for policy Polly edits" }).click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    await page.getByRole("dialog").getByRole("button", link("Delete")).click();
    await expect(policy).toHaveCount(0);
    await page.getByRole("button", link("Undo")).click();
    await expect(policy).toContainText("Polly may edit everything in Policed");
    await context.close();
  },
);

test(
  "the older forms of policies and types of assets are shown in words",
  WRITES,
  async ({ page, docent }) => {
    const actors = { resourceOwners: true, allUsers: false, allGroups: false };
    const common = { type: "METADATA", state: "INACTIVE", actors };
    await createPolicy(docent, {
      ...common,
      name: "Older type",
      privileges: ["EDIT_ENTITY_DOCS", "EDIT_ENTITY_TAGS"],
      resources: { type: "dataset", allResources: true },
    });
    await createPolicy(docent, {
      ...common,
      name: "Older urns",
      privileges: ["DELETE_ENTITY"],
      resources: {
        filter: {
          criteria: [
            { field: "TYPE", values: ["chart"], condition: "NOT_EQUALS" },
            { field: "URN", values: ["urn:li:dataset:"], condition: "STARTS_WITH" },
          ],
        },
      },
    });
    await page.goto("/settings/policies?query=older&state=INACTIVE&kind=METADATA");
    const policies = page.getByRole("list", { name: "Policies" }).getByRole("listitem");
    await expect(policies.nth(0)).toContainText(
      "Owners may edit descriptions and tags of all datasets.",
    );
    await expect(policies.nth(1)).toContainText(
      "Owners may delete everything except charts whose asset starts with “urn:li:dataset:”.",
    );
    await page.getByLabel("Kind").selectOption("About the platform");
    await expect(page.getByText("No policy matches the filters.")).toBeVisible();
  },
);

test(
  "a stored policy covers on the page what it covers in the server, and saving does not widen it",
  WRITES,
  async ({ page, docent }) => {
    // Adopted databases have forms that the API rejects: they are put into the reply.
    const adopted: Readonly<Record<string, object>> = {
      "empty-list": { resources: [] },
      "typed-list": { type: "dataset", resources: [] },
      "empty-filter": {
        type: "dataset",
        resources: ["urn:li:tag:pii"],
        filter: { criteria: [] },
      },
      listed: { type: "dataset", resources: ["urn:li:tag:pii"] },
    };
    for (const id of Object.keys(adopted))
      await createPolicy(docent, {
        name: `Adopted ${id}`,
        type: "METADATA",
        state: "ACTIVE",
        actors: { resourceOwners: true, allUsers: false, allGroups: false },
        privileges: ["EDIT_ENTITY_DOCS"],
        resources: { resources: ["urn:li:tag:pii"] },
      });
    await page.route("**/api/graphql", async (route) => {
      if (route.request().postData()?.includes("query Policies") !== true) return route.fallback();
      const response = await route.fetch();
      const json = await response.json();
      for (const policy of json.data.listPolicies.policies) {
        const resources = adopted[policy.name.replace("Adopted ", "")];
        if (resources === undefined) continue;
        const none = { type: null, resources: null, filter: null, privilegeConstraints: null };
        policy.resources = { ...none, allResources: false, ...resources };
      }
      return route.fulfill({ response, json });
    });
    await page.goto("/settings/policies?query=adopted");
    const policy = (id: string) =>
      page
        .getByRole("list", { name: "Policies" })
        .getByRole("listitem")
        .filter({ hasText: `Adopted ${id}` });
    await expect(policy("empty-list")).toContainText("Owners may edit descriptions of nothing.");
    await expect(policy("typed-list")).toContainText("nothing");
    await expect(policy("listed")).toContainText("Owners may edit descriptions of all datasets");
    await expect(policy("listed")).toContainText("namely pii");
    await expect(policy("empty-filter")).toContainText(
      "Owners may edit descriptions of everything.",
    );
    // The server rejects conditions without values, rather than to cover everything.
    await page.getByRole("button", { name: "More actions for policy Adopted empty-list" }).click();
    await page.getByRole("menuitem", { name: "Deactivate" }).click();
    await expect(page.getByRole("alert")).toContainText("compares with nothing");
    await page.getByRole("link", { name: "Edit policy Adopted empty-list" }).click();
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page.getByRole("alert").first()).not.toBeEmpty();
    await expect(page.getByTestId("sentence")).toContainText("nothing");
  },
);

test(
  "administrators are warned before they lose their rights, and others see their sections alone",
  WRITES,
  async ({ browser, docent }) => {
    const context = await newUser(browser, docent, "Adah", "Admin");
    const page = await context.newPage();
    await page.goto("/settings/policies?query=Admins");
    const more = page.getByRole("button", {
      name: "More actions for policy Admins - Platform Policy",
    });
    await more.click();
    await page.getByRole("menuitem", { name: "Deactivate" }).click();
    const dialog = page.getByRole("dialog");
    await expect(dialog).toContainText("You would lose the right to manage policies");
    await dialog.getByRole("button", link("Cancel")).click();
    await expect(page.getByText("Inactive", { exact: true })).toHaveCount(1); // The filter's option.

    await page.goto("/settings/users?query=adah");
    await page.getByLabel("Role of Adah").selectOption("Reader");
    await expect(dialog).toContainText("from Admin to Reader");
    await dialog.getByRole("button", link("Cancel")).click();
    await expect(page.getByLabel("Role of Adah")).toHaveValue("urn:li:dataHubRole:Admin");
    await page.getByRole("button", { name: "More actions for Adah" }).click();
    await page.getByRole("menuitem", { name: "Suspend…" }).click();
    await expect(dialog).toContainText("This is your own account.");
    await dialog.getByRole("button", link("Cancel")).click();

    const guest = await newUser(browser, docent, "Gustav", "Reader");
    const other = await guest.newPage();
    await other.goto("/settings/policies");
    const sections = other.getByRole("navigation", { name: "Settings sections" });
    await expect(other.getByText("You don't have the privilege for this page.")).toBeVisible();
    await expect(sections.getByRole("link")).toHaveText([
      "Access tokens",
      "Account",
      "Preferences",
      "Structured properties",
    ]);
    await createPolicy(docent, {
      type: "PLATFORM",
      state: "ACTIVE",
      name: "Gustav manages users",
      privileges: ["MANAGE_USERS_AND_GROUPS", "VIEW_SYSTEM_STATUS"],
      actors: {
        users: ["urn:li:corpuser:gustav@example.com"],
        resourceOwners: false,
        allUsers: false,
        allGroups: false,
      },
    });
    await other.goto("/settings/users?query=gustav");
    await expect(sections.getByRole("link")).toHaveText([
      "Access tokens",
      "Account",
      "Preferences",
      "Users",
      "Invitations",
      "Groups",
      "Structured properties",
      "Server",
    ]);
    // Roles need another privilege, so they are text.
    await expect(other.getByRole("row", { name: /Gustav/ })).toContainText("Reader");
    await expect(other.getByLabel("Role of Gustav")).toHaveCount(0);
    await context.close();
    await guest.close();
  },
);

test(
  "roles are assigned, and users suspended, activated and deleted",
  WRITES,
  async ({ page, browser, docent }) => {
    const context = await newUser(browser, docent, "Roland", "Reader");
    await page.goto("/settings/users?query=roland");
    const role = page.getByLabel("Role of Roland");
    await role.selectOption("Editor");
    await expect(page.getByText("Roland: Editor")).toBeVisible();
    await page.getByRole("button", link("Undo")).click();
    await expect(role).toHaveValue("urn:li:dataHubRole:Reader");

    const row = page.getByRole("row", { name: /Roland/ });
    const more = page.getByRole("button", { name: "More actions for Roland" });
    await more.click();
    await page.getByRole("menuitem", { name: "Suspend…" }).click();
    await page.getByRole("dialog").getByRole("button", link("Suspend")).click();
    await expect(row).toContainText("Suspended");
    const status = await context.request.post("/api/graphql", {
      data: { query: "{ me { corpUser { urn } } }" },
    });
    expect(status.status()).toBe(401);
    await more.click();
    await page.getByRole("menuitem", { name: "Activate" }).click();
    await expect(row).toContainText("Active");

    await page.goto("/settings/roles");
    await page.getByRole("button", { name: "Assign the role Proposer" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("combobox").fill("roland");
    await dialog.getByRole("option", { name: "Roland" }).click();
    const remove = page.getByRole("button", { name: "Remove the role Proposer from Roland" });
    await expect(remove).toBeVisible();
    await remove.click();
    await expect(remove).toBeHidden();
    await page.getByRole("button", link("Undo")).click();
    await expect(remove).toBeVisible();
    await page.getByText("What it allows").nth(1).click();
    await expect(page.getByText("Editors may edit all datasets, charts")).toBeVisible();

    await docent.ingest("urn:li:tag:rolands", "tagProperties", { name: "Rolands" });
    await docent.ingest("urn:li:tag:rolands", "ownership", {
      owners: [{ owner: "urn:li:corpuser:roland@example.com", type: "TECHNICAL_OWNER" }],
    });
    await page.goto("/settings/users?query=roland");
    await more.click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    await expect(dialog).toContainText("1 asset is owned by it");
    await dialog.getByRole("button", link("Delete")).click();
    await expect(page.getByText("Roland is deleted.")).toBeVisible();
    await expect(row).toBeHidden();
    await context.close();
  },
);

test(
  "a group is created, filled, described and deleted after a preview",
  WRITES,
  async ({ page }) => {
    await page.goto("/settings/groups");
    await page.getByRole("button", link("New group")).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("Early birds");
    await dialog.getByRole("button", link("Create")).click();
    await expect(page.getByRole("heading", { name: "Early birds" })).toBeVisible();
    const members = page.getByRole("region", { name: "Members" });
    await members.getByRole("button", link("Add member")).click();
    await dialog.getByRole("combobox").fill("accountant");
    await dialog.getByRole("option", { name: "Accountant" }).click();
    await expect(members.getByRole("listitem")).toHaveText([/Accountant/]);
    await members.getByRole("button", { name: "Remove member Accountant" }).click();
    await expect(members.getByRole("listitem")).toHaveCount(0);
    await members.getByRole("button", link("Undo")).click();
    await expect(members.getByRole("listitem")).toHaveText([/Accountant/]);
    const owners = page.getByRole("region", { name: "Owners" });
    await owners.getByRole("button", link("Add owner")).click();
    await dialog.getByRole("combobox").fill("data steward");
    await dialog.getByRole("option", { name: "Data Steward" }).click();
    await expect(owners.getByRole("listitem")).toContainText(["Data Steward"]);

    await page.getByRole("button", { name: "Edit the group Early birds" }).click();
    await dialog.getByLabel("Name").fill("Late birds");
    await dialog.getByLabel("Description").fill("They rise late.");
    await dialog.getByRole("button", link("Save")).click();
    await expect(page.getByRole("heading", { name: "Late birds" })).toBeVisible();
    await expect(page.getByText("They rise late.")).toBeVisible();
    await expectAccessible(page, "group");

    await page.getByRole("button", link("Delete group…")).click();
    await expect(dialog).toContainText("1 member leaves it");
    await dialog.getByRole("button", link("Delete")).click();
    await expect(page).toHaveURL(/\/settings\/groups$/);
    await expect(page.getByRole("link", { name: "Late birds" })).toBeHidden();
  },
);

test(
  "service accounts get tokens, which administrators find and revoke, and links are revoked",
  WRITES,
  async ({ page, docent }) => {
    await page.goto("/settings/service-accounts");
    await page.getByRole("button", link("New service account")).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("Night loader");
    await dialog.getByRole("button", link("Create")).click();
    await page.getByRole("button", { name: "New token for Night loader" }).click();
    await dialog.getByLabel("Name").fill("nightly");
    await dialog.getByRole("button", link("Create")).click();
    const token = await dialog.getByTestId("secret").innerText();
    await dialog.getByRole("button", link("Done")).click();
    const status = async () =>
      (
        await fetch(`${docent.address}/api/graphql`, {
          method: "POST",
          headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
          body: JSON.stringify({ query: "{ me { corpUser { urn } } }" }),
        })
      ).status;
    expect(await status()).toBe(200);
    await page.getByRole("link", { name: "Tokens of Night loader" }).click();
    await expect(page.getByRole("row")).toHaveCount(2);
    await expect(page.getByRole("row", { name: /nightly/ })).toContainText("just now");
    await page.getByRole("button", { name: /^Revoke token nightly/ }).click();
    await dialog.getByRole("button", link("Revoke")).click();
    await expect(page.getByText("No access tokens")).toBeVisible();
    expect(await status()).toBe(401);
    await page.getByRole("link", link("Show all tokens")).click();
    await expect(page.getByRole("row", { name: /^demo/ })).toContainText("Not limited");

    await page.goto("/settings/service-accounts");
    await page.getByRole("button", { name: "Delete Night loader" }).click();
    await dialog.getByRole("button", link("Delete")).click();
    await expect(page.getByText("Night loader is deleted.")).toBeVisible();

    await page.goto("/settings/invitations");
    await page.getByRole("button", link("Invite users")).click();
    await dialog.getByLabel("Role").selectOption("Proposer");
    await dialog.getByRole("button", link("Create link")).click();
    const invitation = new URL(await dialog.getByTestId("secret").innerText());
    await dialog.getByRole("button", link("Done")).click();
    await page.getByRole("button", { name: "Revoke the invite link for Proposer" }).click();
    await dialog.getByRole("button", link("Revoke")).click();
    await expect(page.getByText("The link is revoked.")).toBeVisible();
    const reply = await fetch(`${docent.address}/signUp`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({
        fullName: "Late Guest",
        email: "late@example.com",
        password: "three uncommon words",
        inviteToken: invitation.searchParams.get("invite_token"),
      }),
    });
    expect(reply.status).toBe(403);
  },
);

test(
  "ownership types are created, edited with undo, and deleted; the server shows its state",
  WRITES,
  async ({ page }) => {
    await page.goto("/settings/ownership-types");
    await page.getByRole("button", link("New ownership type")).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("Night watch");
    await dialog.getByLabel("Description").fill("Is called at night.");
    await dialog.getByRole("button", link("Create")).click();
    const row = page.getByRole("row", { name: /Night watch/ });
    await expect(row).toContainText("Is called at night.");
    await page.getByRole("button", { name: "Edit Night watch" }).click();
    await dialog.getByLabel("Description").fill("Sleeps.");
    await dialog.getByRole("button", link("Save")).click();
    await expect(row).toContainText("Sleeps.");
    await page.getByRole("button", link("Undo")).click();
    await expect(row).toContainText("Is called at night.");
    await page.getByRole("button", { name: "Delete Night watch" }).click();
    await dialog.getByRole("button", link("Delete")).click();
    await expect(row).toBeHidden();

    await page.goto("/settings/server");
    const state = page.getByRole("region", { name: "State" });
    await expect(state).toContainText(/Storage engine(SQLite|PostgreSQL)/);
    await expect(state).toContainText(/Database[\d.]+ [kM]B/);
    await expect(page.getByRole("region", { name: "Contents" })).toContainText("Datasets");
    await expect(page.getByRole("region", { name: "Settings", exact: true })).toContainText(
      "default-role",
    );
  },
);

test(
  "a table that is wider than the window scrolls by keyboard",
  WRITES,
  async ({ page, docent }) => {
    const email = `${"wide.".repeat(16)}user@example.com`;
    await docent.ingest("urn:li:corpuser:wide-user", "corpUserInfo", {
      active: true,
      displayName: "Wide User",
      email,
    });
    await page.setViewportSize({ width: 720, height: 700 });
    await page.goto("/settings/users");
    await page.getByLabel("Find users").fill("Wide User");
    await expect(page.getByRole("row").filter({ hasText: email })).toBeVisible();
    const region = page.getByRole("region", { name: "Table, scrolls sideways" });
    await region.focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => region.evaluate((element) => element.scrollLeft)).toBeGreaterThan(0);
    await page.setViewportSize({ width: 1900, height: 700 });
    await expect(region).toHaveCount(0);
  },
);
