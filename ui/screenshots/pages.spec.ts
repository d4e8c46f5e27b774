import type { Page } from "@playwright/test";

import { datasetUrn, expect, test, type Docent } from "../tests/fixtures.ts";

const PAYMENTS = datasetUrn("postgres", "shop.billing.payments");
const ORDERS = datasetUrn("snowflake", "analytics.core.fct_orders");

const CUSTOMERS = datasetUrn("snowflake", "analytics.core.dim_customer");
const UNDOCUMENTED = [
  datasetUrn("postgres", "shop.public.book_authors"),
  datasetUrn("kafka", "web.cart-updated"),
];

const TEXTS = [
  "One row per payment attempt, from the shop's checkout.",
  "One row per payment attempt, including failed ones: filter by status before you sum.",
] as const;

interface Screenshot {
  readonly name: string;
  readonly path: string;
  /** What must be visible before the screenshot is taken. */
  readonly isReady: (page: Page) => Promise<void>;
}

const PAGES: readonly Screenshot[] = [
  {
    name: "search",
    path: "/search?query=customer+order",
    isReady: (page) => expect(page.getByRole("article").first()).toBeVisible(),
  },
  {
    name: "dataset",
    path: `/dataset/${ORDERS}`,
    isReady: (page) => expect(page.getByRole("rowheader", { name: "order_id" })).toBeVisible(),
  },
  {
    name: "lineage",
    path: `/dataset/${ORDERS}/Lineage?view=graph`,
    isReady: (page) => expect(page.locator(".lineage-card-body").nth(3)).toBeVisible(),
  },
  {
    name: "quality",
    path: `/dataset/${datasetUrn("snowflake", "analytics.finance.payment_reconciliation")}/Quality`,
    isReady: (page) => expect(page.getByRole("heading", { name: "Checks" })).toBeVisible(),
  },
  {
    name: "form",
    path: `/dataset/${datasetUrn("postgres", "shop.public.orders")}/Forms`,
    isReady: (page) => expect(page.getByText(/columns answered/)).toBeVisible(),
  },
  {
    name: "history",
    path: `/dataset/${PAYMENTS}?show=history`,
    isReady: (page) => expect(page.locator("ins").first()).toBeVisible(),
  },
  // Last, so that it lists what was viewed.
  {
    name: "home",
    path: "/",
    isReady: (page) => expect(page.getByRole("table", { name: "Changes per week" })).toBeVisible(),
  },
];

/** Runs mutations as a user of the sample catalog. */
async function actAs(docent: Docent, user: string) {
  const { createAccessToken } = await docent.graphql<{
    createAccessToken: { accessToken: string };
  }>(
    `mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { accessToken } }`,
    {
      input: {
        type: "PERSONAL",
        actorUrn: `urn:li:corpuser:${user}`,
        duration: "ONE_HOUR",
        name: "screenshots",
      },
    },
  );
  return async (query: string, input: unknown) => {
    const reply = await fetch(`${docent.address}/api/graphql`, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        Authorization: `Bearer ${createAccessToken.accessToken}`,
      },
      body: JSON.stringify({ query, variables: { input } }),
    });
    const { errors } = (await reply.json()) as { readonly errors?: unknown };
    expect(errors, user).toBeUndefined();
  };
}

const DESCRIBE = `mutation ($input: DescriptionUpdateInput!) { updateDescription(input: $input) }`;
const ADD_TERM = `mutation ($input: TermAssociationInput!) { addTerm(input: $input) }`;
const ADD_OWNER = `mutation ($input: AddOwnerInput!) { addOwner(input: $input) }`;

/** What users have done, so that the pages are not empty. */
async function prepare(docent: Docent): Promise<void> {
  const developer = await actAs(docent, "payments-developer");
  const steward = await actAs(docent, "data-steward");
  const lead = await actAs(docent, "analytics-lead");
  const [first, second] = TEXTS;
  await developer(DESCRIBE, { resourceUrn: PAYMENTS, description: first });
  await steward(ADD_TERM, {
    resourceUrn: PAYMENTS,
    termUrn: "urn:li:glossaryTerm:gross-merchandise-value",
  });
  await developer(ADD_OWNER, {
    resourceUrn: PAYMENTS,
    ownerUrn: "urn:li:corpGroup:finance-team",
    ownerEntityType: "CORP_GROUP",
    ownershipTypeUrn: "urn:li:ownershipType:__system__business_owner",
  });
  await lead(ADD_TERM, { resourceUrn: CUSTOMERS, termUrn: "urn:li:glossaryTerm:net-revenue" });
  await steward(DESCRIBE, { resourceUrn: PAYMENTS, description: second });
  for (const resourceUrn of UNDOCUMENTED) {
    await steward(ADD_OWNER, {
      resourceUrn,
      ownerUrn: "urn:li:corpuser:datahub",
      ownerEntityType: "CORP_USER",
      ownershipTypeUrn: "urn:li:ownershipType:__system__technical_owner",
    });
  }
  await docent.graphql(`mutation ($input: CreatePostInput!) { createPost(input: $input) }`, {
    input: {
      postType: "HOME_PAGE_ANNOUNCEMENT",
      content: {
        contentType: "TEXT",
        title: "Yearly data review until December 15",
        description: "Please answer the form on the tables that you own.",
      },
    },
  });
  await docent.graphql(
    `mutation ($input: CreateViewInput!) { createView(input: $input) { urn } }`,
    {
      input: {
        viewType: "PERSONAL",
        name: "Tables of Finance",
        definition: {
          entityTypes: ["DATASET"],
          filter: {
            operator: "AND",
            filters: [{ field: "domains", values: ["urn:li:domain:finance"] }],
          },
        },
      },
    },
  );
}

test("screenshots of the pages", async ({ page, docent }) => {
  test.setTimeout(120_000);
  await prepare(docent);
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    for (const { name, path, isReady } of PAGES) {
      await page.goto(path);
      await isReady(page);
      await page.waitForLoadState("networkidle");
      await page.screenshot({ path: `../docs/images/${name}-${scheme}.png` });
    }
  }
});
