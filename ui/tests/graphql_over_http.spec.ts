// GraphQL over HTTP: the audits of the package graphql-http, which check what its specification
// says, against the real server.

import { serverAudits } from "graphql-http";

import { expect, test } from "./fixtures.ts";

const POST_ONLY = "GraphQL is served by POST only, as DataHub's clients send it; GET is optional";
const EXTENSIONS = "DataHub ignores unknown members of the body; rejecting them is optional";

/** Audits that fail, and why. docs/API.md has the same list. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "5A70": POST_ONLY,
  D6D5: POST_ONLY,
  "6A70": POST_ONLY,
  "58B0": EXTENSIONS,
  "58B1": EXTENSIONS,
  "58B2": EXTENSIONS,
  "58B3": EXTENSIONS,
  "9ABE": "DataHub accepts every content type from clients with a token",
};

test("all audits of GraphQL over HTTP pass, except for the listed ones", async ({ docent }) => {
  const audits = serverAudits({
    url: `${docent.address}/api/graphql`,
    fetchFn: (url: string, init: RequestInit = {}) =>
      fetch(url, {
        ...init,
        headers: { ...(init.headers as object), Authorization: `Bearer ${docent.token}` },
      }),
  });
  expect(audits.length).toBeGreaterThan(60);
  const failed: Record<string, string> = {};
  for (const audit of audits) {
    const result = await audit.fn();
    if (result.status !== "ok") failed[result.id] = `${result.name}: ${result.reason}`;
  }
  const unexpected = Object.entries(failed).filter(([id]) => !(id in EXCEPTIONS));
  expect(unexpected, "audits that fail").toEqual([]);
  expect(Object.keys(failed).sort(), "exceptions, which all fail").toEqual(
    Object.keys(EXCEPTIONS).sort(),
  );
});
