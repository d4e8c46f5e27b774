// Users for the browser tests.

import type { Browser, BrowserContext } from "@playwright/test";

import { expect, serveBuiltPage, type Docent } from "./fixtures.ts";

const PASSWORD = "three uncommon words";

/** Signs up a user with a role, such as "Reader"; the context has the session. */
export async function newUser(
  browser: Browser,
  docent: Docent,
  name: string,
  role: string,
): Promise<BrowserContext> {
  const invitation = await docent.graphql<{ createInviteToken: { inviteToken: string } }>(
    `mutation ($role: String) { createInviteToken(input: { roleUrn: $role }) { inviteToken } }`,
    { role: `urn:li:dataHubRole:${role}` },
  );
  const context = await browser.newContext({ baseURL: docent.address });
  await serveBuiltPage(context, docent.address);
  const reply = await context.request.post("/signUp", {
    data: {
      fullName: name,
      email: `${name.toLowerCase()}@example.com`,
      password: PASSWORD,
      inviteToken: invitation.createInviteToken.inviteToken,
    },
  });
  expect(reply.ok(), await reply.text()).toBe(true);
  return context;
}
