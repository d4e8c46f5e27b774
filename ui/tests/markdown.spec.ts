import type { Locator, Page } from "@playwright/test";
import { build } from "vite";

import { datasetUrn, expect, test } from "./docent.ts";
import type { Docent } from "./docent.ts";

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
  `![\\<img src=x onerror=attacked(26)>](x)`,
  `![x](<x" onmouseover="attacked(27)>)`,
];

/** Attacks on whoever renders HTML as it is. */
const HTML_ATTACKS = [
  ...ATTACKS.filter((attack) => attack.startsWith("<")),
  `<p onclick="attacked(30)" style="position:fixed;inset:0" id="content" class="primary" data-result="x" aria-label="x">x</p>`,
  `<a href="jav\tascript:attacked(31)">x</a>`,
  `<a href=" &#1;javascript:attacked(32)">x</a>`,
  `<a href="data:text/html,<script>attacked(33)</script>">x</a>`,
  `<a href="//example.org" target="_blank" ping="https://example.org">x</a>`,
  `<a href="blob:https://example.org/x">x</a>`,
  `<img src="https://example.org/who-reads-this.png">`,
  `<video><source onerror="attacked(34)"></video>`,
  `<button formaction="javascript:attacked(35)">x</button>`,
  `<link rel="stylesheet" href="https://example.org/x.css"><meta http-equiv="refresh" content="0;url=https://example.org">`,
  `<svg><style><img src=x onerror=attacked(36)></style></svg>`,
  `<noscript><p title="</noscript><img src=x onerror=attacked(37)>"></noscript>`,
  `<table><caption><template><img src=x onerror=attacked(38)></template></caption><td background="javascript:attacked(39)">x</td></table>`,
  `<math><mi xlink:href="javascript:attacked(40)">x</mi></math>`,
];

/** All that may come out of it, said once more: a longer list in the page itself is to be noticed here. */
const HARMLESS = {
  elements: "a blockquote br code del em h1 h2 h3 h4 h5 h6 hr li ol p pre s strong table tbody td th thead tr ul".split(
    " ",
  ),
  attributes: "href title start align rel".split(" "),
  addresses: "^(https?:|ftp:|mailto:|/(?!/)|#)",
};

/** The part of the page that renders Markdown, in a page of its own that allows everything. */
async function renderer(page: Page): Promise<void> {
  const preact = { "react/jsx-runtime": "preact/jsx-runtime", react: "preact/compat" };
  const built = await build({
    configFile: false,
    logLevel: "silent",
    resolve: { alias: preact },
    build: {
      write: false,
      lib: { entry: "src/components/markdown.tsx", formats: ["iife"], name: "renderer" },
    },
  });
  const [bundle] = Array.isArray(built) ? built : [];
  await page.goto("about:blank");
  await page.addScriptTag({ content: bundle?.output[0].code ?? "" });
}

interface Renderer {
  readonly parsed: (markdown: string) => string;
  readonly purified: (html: string) => string;
}
declare global {
  interface Window {
    readonly renderer: Renderer;
  }
}

/** What of some HTML is not harmless, without anything of it being run. */
function harmIn(page: Page, wall: keyof Renderer, text: string): Promise<string[]> {
  return page.evaluate(
    ({ wall, text, harmless }) => {
      const html = window.renderer[wall](text);
      const found = new DOMParser().parseFromString(html, "text/html").body.querySelectorAll("*");
      return [...found].flatMap((element) => {
        const name = element.localName;
        if (!harmless.elements.includes(name)) return [`<${name}>`];
        return [...element.attributes]
          .filter(({ name, value }) => {
            const isAddress = name === "href" && !new RegExp(harmless.addresses, "i").test(value);
            return !harmless.attributes.includes(name) || isAddress;
          })
          .map((attribute) => `<${name} ${attribute.name}="${attribute.value}">`);
      });
    },
    { wall, text, harmless: HARMLESS },
  );
}

test("HTML in Markdown becomes text, whatever stands behind it", async ({ browser }) => {
  const page = await browser.newPage();
  await renderer(page);
  for (const attack of ATTACKS) {
    const harm = await harmIn(page, "parsed", attack);
    // Addresses, and the names of languages, are looked at by the next wall.
    const more = harm.filter((found) => !/^<(a href|code class)=/.test(found));
    expect(more, attack).toEqual([]);
  }
  expect(await page.evaluate(() => window.renderer.parsed("<b>x</b>"))).toContain("&#60;b&#62;");
  await page.close();
});

test("of HTML only what is harmless is left, whatever stands before it", async ({ browser }) => {
  const page = await browser.newPage();
  await renderer(page);
  for (const attack of [...HTML_ATTACKS, `<p>${HTML_ATTACKS.join("")}</p>`]) {
    expect(await harmIn(page, "purified", attack), attack).toEqual([]);
  }
  const kept = `<h3>A</h3><ol><li>b</li></ol><p><a href="https://example.org" title="t" rel="noopener noreferrer nofollow">c</a></p>`;
  expect(await page.evaluate((html) => window.renderer.purified(html), kept)).toBe(kept);
  await page.close();
});

test("Markdown that attacks is shown harmless, and nothing of it runs", async ({ page, docent }) => {
  await attack(page, docent, "story_attack");
});

test.describe("without the policy that forbids scripts", () => {
  test.use({ bypassCSP: true });

  test("Markdown that attacks runs nothing either", async ({ page, docent }) => {
    await page.goto("/");
    // The policy is indeed out of the way.
    const isRun = await page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "window.hasRun = true";
      document.body.append(script);
      return "hasRun" in window;
    });
    expect(isRun).toBe(true);
    await attack(page, docent, "story_attack_without_policy");
  });
});

async function attack(page: Page, docent: Docent, name: string): Promise<void> {
  const urn = datasetUrn("hive", name);
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

  // Everything that can be pointed at and clicked is. What leads elsewhere leads nowhere here.
  await page.route(/^https?:\/\/(?!127\.0\.0\.1)/, (route) => route.fulfill({ status: 204 }));
  const harmful =
    "script, img, svg, iframe, object, style, form, input, base, math, [onerror], [onload], [onclick], [onmouseover]";
  const tryAll = async (part: Locator) => {
    await expect(part.locator(`.prose :is(${harmful})`)).toHaveCount(0);
    for (const link of await part.locator(".prose a, .links a").all()) {
      const address = (await link.getAttribute("href")) ?? "";
      expect(address).not.toMatch(/^\s*(javascript|data|vbscript):/i);
      await link.hover();
      await link.click();
    }
  };
  await tryAll(page.getByRole("region", { name: "Description" }));
  await tryAll(page.getByRole("region", { name: "Links" }));
  // Rows are there only near the window.
  for (const number of ATTACKS.keys()) {
    const row = page.locator(`[data-index="${number}"]`);
    await row.scrollIntoViewIfNeeded();
    await expect(row.getByRole("rowheader")).toContainText(`attacked(${number})`);
    await tryAll(row);
  }
  expect(new URL(page.url()).pathname).toContain(name);
  await expect(page.locator(".links li")).toContainText("javascript:attacked(100)");
  await expect(page.locator(".links a")).toHaveCount(0);

  await page.getByRole("button", { name: "Edit the description", exact: true }).click();
  await expect(page.getByRole("region", { name: "Preview" })).toContainText("<script>attacked(1)</script>");
  await expect(page.locator(`.preview :is(${harmful})`)).toHaveCount(0);
  await page.goto("/search?query=attacked");
  await expect(page.getByRole("article").first()).toBeVisible();
  expect(attacks).toEqual([]);
}

test.describe("with a script in the page", () => {
  test.use({ expectedErrors: /Content Security Policy/ });
  test("even that would not run", async ({ page }) => {
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
