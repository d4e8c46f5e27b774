import { datasetUrn, expect, test } from "./docent.ts";

/** Whatever people have tried; each would call `attacked` if it ran. */
const ATTACKS = [
  `<script>attacked(1)</script>`,
  `<img src=x onerror="attacked(2)">`,
  `<svg onload="attacked(3)"><script>attacked(4)</script></svg>`,
  `<svg><animate onbegin="attacked(5)" attributeName="x" dur="1s"></svg>`,
  `[click](javascript:attacked(6))`,
  `[click](JaVaScRiPt:attacked(7))`,
  `[click](java&#10;script:attacked(8))`,
  `[click](data:text/html;base64,PHNjcmlwdD5hdHRhY2tlZCg5KTwvc2NyaXB0Pg==)`,
  `![x](javascript:attacked(10))`,
  `![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImF0dGFja2VkKDExKSI+PC9zdmc+)`,
  `![x" onerror="attacked(12)](x)`,
  `[x](https://example.org/" onmouseover="attacked(13))`,
  `<a href="javascript:attacked(14)">click</a>`,
  `<iframe srcdoc="<script>parent.attacked(15)</script>"></iframe>`,
  `<math><mtext></form><form><mglyph><style></math><img src onerror=attacked(16)>`,
  `<details open ontoggle="attacked(17)">x</details>`,
  `<style>@import 'javascript:attacked(18)';</style>`,
  `<base href="javascript:attacked(19)//">`,
  `<form action="javascript:attacked(20)"><button>click</button></form>`,
  `<object data="data:text/html,<script>attacked(21)</script>"></object>`,
  `<input autofocus onfocus=attacked(22)>`,
  `[vb](vbscript:attacked(23))`,
  "```html\n<script>attacked(24)</script>\n```",
  `<https://example.org/><img src=x onerror=attacked(25)>`,
];

test("Markdown that attacks is shown harmless, and nothing of it runs", async ({ page, docent }) => {
  const urn = datasetUrn("hive", "story_attack");
  const text = ATTACKS.join("\n\n");
  await docent.ingest(urn, "datasetProperties", { description: text, customProperties: {} });
  await docent.ingest(urn, "schemaMetadata", {
    schemaName: "t",
    platform: "urn:li:dataPlatform:hive",
    version: 0,
    hash: "",
    platformSchema: { "com.linkedin.schema.OtherSchema": { rawSchema: "" } },
    fields: ATTACKS.map((description, number) => ({
      fieldPath: `<img src=x onerror=attacked(${number})>${number}`,
      description,
      type: { type: { "com.linkedin.schema.StringType": {} } },
      nativeDataType: "<b onclick=attacked()>",
    })),
  });
  await docent.ingest(urn, "institutionalMemory", {
    elements: [
      {
        url: "javascript:attacked(100)",
        description: "<img src=x onerror=attacked(101)>",
        createStamp: { time: 1, actor: "urn:li:corpuser:datahub" },
      },
    ],
  });
  const attacks: unknown[] = [];
  await page.exposeFunction("attacked", (number: unknown) => attacks.push(number));
  await page.goto(`/dataset/${urn}`);
  await expect(page.locator(".prose").first()).toContainText("<script>attacked(1)</script>");
  await expect(page.getByRole("table", { name: "Columns" })).toBeVisible();

  // Everything that can be pointed at and clicked is.
  for (const link of await page.locator(".prose a, .links a").all()) {
    const address = (await link.getAttribute("href")) ?? "";
    expect(address).not.toMatch(/^\s*(javascript|data|vbscript):/i);
    await link.dispatchEvent("mouseover");
  }
  const harmful =
    "script, img, svg, iframe, object, style, form, input, base, math, [onerror], [onload], [onclick], [onmouseover]";
  await expect(page.locator(`.prose :is(${harmful})`)).toHaveCount(0);
  await expect(page.locator(".links a")).toHaveCount(0);

  await page.getByRole("button", { name: "Edit the description", exact: true }).click();
  await expect(page.getByRole("region", { name: "Preview" })).toContainText("<script>attacked(1)</script>");
  await expect(page.locator(`.preview :is(${harmful})`)).toHaveCount(0);
  await page.goto("/search?query=attacked");
  await expect(page.getByRole("article").first()).toBeVisible();
  expect(attacks).toEqual([]);
});

test("even a script that got into the page would not run", async ({ page }) => {
  await page.goto("/");
  const attacks: unknown[] = [];
  await page.exposeFunction("attacked", (number: unknown) => attacks.push(number));
  const refused = await page.evaluate(
    () =>
      new Promise<string[]>((resolve) => {
        const directives: string[] = [];
        document.addEventListener("securitypolicyviolation", (event) => {
          directives.push(event.violatedDirective);
          if (directives.length === 2) resolve(directives);
        });
        const script = document.createElement("script");
        script.textContent = "attacked(1)";
        document.body.append(script);
        const button = document.createElement("button");
        button.setAttribute("onclick", "attacked(2)");
        document.body.append(button);
        button.click();
      }),
  );
  expect(refused.sort()).toEqual(["script-src-attr", "script-src-elem"]);
  expect(attacks).toEqual([]);
});

test("ordinary Markdown is rendered as people expect", async ({ page, docent }) => {
  const urn = datasetUrn("hive", "story_markdown");
  const description =
    "# Title\n\nA *word*, `code`, [a link](https://example.org).\n\n- one\n- two\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n```sql\nselect 1\n```\n\n![chart](https://example.org/c.png)";
  await docent.ingest(urn, "datasetProperties", { description, customProperties: {} });
  await page.goto(`/dataset/${urn}`);
  const prose = page.locator(".prose").first();
  await expect(prose.locator("h3")).toHaveText("Title");
  await expect(prose.locator("em")).toHaveText("word");
  await expect(prose.getByRole("link", { name: "a link" })).toHaveAttribute("rel", "noopener noreferrer nofollow");
  await expect(prose.locator("li")).toHaveText(["one", "two"]);
  await expect(prose.locator("td")).toHaveText(["1", "2"]);
  await expect(prose.locator("pre")).toContainText("select 1");
  await expect(prose.getByRole("link", { name: "Picture: chart" })).toBeVisible();
});
