import type { Locator, Page } from "@playwright/test";
import { build } from "vite";

import { datasetUrn, expect, test } from "./fixtures.ts";
import type { Docent } from "./fixtures.ts";

/** Known attacks; each calls `attacked` if it runs. */
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

/** Attacks on the sanitizer, which gets HTML directly. */
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

/** The allowed output, repeated here so that a change to the page's own list fails a test. */
const ALLOWED = {
  elements:
    "a blockquote br code del em h1 h2 h3 h4 h5 h6 hr li ol p pre s strong table tbody td th thead tr ul".split(
      " ",
    ),
  attributes: "href title start align rel".split(" "),
  addresses: "^(https?:|ftp:|mailto:|/(?!/)|#)",
};

/** Loads the Markdown module into an empty page without a Content-Security-Policy. */
async function loadRenderer(page: Page): Promise<void> {
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
  readonly toHtml: (markdown: string) => string;
  readonly sanitize: (html: string) => string;
}
declare global {
  interface Window {
    readonly renderer: Renderer;
  }
}

/** The forbidden elements and attributes in the output of a layer, found without running it. */
function violations(page: Page, layer: keyof Renderer, text: string): Promise<string[]> {
  return page.evaluate(
    ({ layer, text, allowed }) => {
      const html = window.renderer[layer](text);
      const found = new DOMParser().parseFromString(html, "text/html").body.querySelectorAll("*");
      return [...found].flatMap((element) => {
        const name = element.localName;
        if (!allowed.elements.includes(name)) return [`<${name}>`];
        return [...element.attributes]
          .filter(({ name, value }) => {
            const isAddress = name === "href" && !new RegExp(allowed.addresses, "i").test(value);
            return !allowed.attributes.includes(name) || isAddress;
          })
          .map((attribute) => `<${name} ${attribute.name}="${attribute.value}">`);
      });
    },
    { layer, text, allowed: ALLOWED },
  );
}

test("HTML in Markdown is escaped, independent of the sanitizer", async ({ browser }) => {
  const page = await browser.newPage();
  await loadRenderer(page);
  for (const attack of ATTACKS) {
    const found = await violations(page, "toHtml", attack);
    // URLs and language classes are left to the sanitizer.
    const unexpected = found.filter((violation) => !/^<(a href|code class)=/.test(violation));
    expect(unexpected, attack).toEqual([]);
  }
  expect(await page.evaluate(() => window.renderer.toHtml("<b>x</b>"))).toContain("&#60;b&#62;");
  await page.close();
});

test("the sanitizer keeps only allowed HTML, independent of the parser", async ({ browser }) => {
  const page = await browser.newPage();
  await loadRenderer(page);
  for (const attack of [...HTML_ATTACKS, `<p>${HTML_ATTACKS.join("")}</p>`]) {
    expect(await violations(page, "sanitize", attack), attack).toEqual([]);
  }
  const safe = `<h3>A</h3><ol><li>b</li></ol><p><a href="https://example.org" title="t" rel="noopener noreferrer nofollow">c</a></p>`;
  expect(await page.evaluate((html) => window.renderer.sanitize(html), safe)).toBe(safe);
  await page.close();
});

test("malicious Markdown is rendered safely and nothing in it runs", async ({ page, docent }) => {
  await attack(page, docent, "story_attack");
});

test.describe("without a Content-Security-Policy", () => {
  test.use({ bypassCSP: true });

  test("malicious Markdown runs nothing", async ({ page, docent }) => {
    await page.goto("/");
    // Confirm that the policy is off.
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

  // Hover over and click every link. External requests get an empty response.
  await page.route(/^https?:\/\/(?!127\.0\.0\.1)/, (route) => route.fulfill({ status: 204 }));
  const harmful =
    "script, img, svg, iframe, object, style, form, input, base, math, [onerror], [onload], [onclick], [onmouseover]";
  const exercise = async (part: Locator) => {
    await expect(part.locator(`.prose :is(${harmful})`)).toHaveCount(0);
    for (const link of await part.locator(".prose a, .links a").all()) {
      const address = (await link.getAttribute("href")) ?? "";
      expect(address).not.toMatch(/^\s*(javascript|data|vbscript):/i);
      await link.hover();
      await link.click();
    }
  };
  await exercise(page.getByRole("region", { name: "Description" }));
  await exercise(page.getByRole("region", { name: "Links" }));
  // Only rows near the viewport are rendered.
  for (const number of ATTACKS.keys()) {
    const row = page.locator(`[data-index="${number}"]`);
    await row.scrollIntoViewIfNeeded();
    await expect(row.getByRole("rowheader")).toContainText(`attacked(${number})`);
    await exercise(row);
  }
  expect(new URL(page.url()).pathname).toContain(name);
  await expect(page.locator(".links li")).toContainText("javascript:attacked(100)");
  await expect(page.locator(".links a")).toHaveCount(0);

  await page.getByRole("button", { name: "Edit description", exact: true }).click();
  await expect(page.getByRole("region", { name: "Preview" })).toContainText(
    "<script>attacked(1)</script>",
  );
  await expect(page.locator(`.preview :is(${harmful})`)).toHaveCount(0);
  await page.goto("/search?query=attacked");
  await expect(page.getByRole("article").first()).toBeVisible();
  expect(attacks).toEqual([]);
}

test.describe("with an inline script in the page", () => {
  test.use({ expectedErrors: /Content Security Policy/ });
  test("the policy blocks it", async ({ page }) => {
    await page.goto("/");
    const attacks: unknown[] = [];
    await page.exposeFunction("attacked", (number: unknown) => attacks.push(number));
    const blocked = await page.evaluate(
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
    expect(blocked.sort()).toEqual(["script-src-attr", "script-src-elem"]);
    expect(attacks).toEqual([]);
  });
});

test("ordinary Markdown is rendered", async ({ page, docent }) => {
  const urn = datasetUrn("hive", "story_markdown");
  const description =
    "# Title\n\nA *word*, `code`, [a link](https://example.org).\n\n- one\n- two\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n```sql\nselect 1\n```\n\n![chart](https://example.org/c.png)";
  await docent.ingest(urn, "datasetProperties", { description, customProperties: {} });
  await page.goto(`/dataset/${urn}`);
  const prose = page.locator(".prose").first();
  await expect(prose.locator("h3")).toHaveText("Title");
  await expect(prose.locator("em")).toHaveText("word");
  await expect(prose.getByRole("link", { name: "a link" })).toHaveAttribute(
    "rel",
    "noopener noreferrer nofollow",
  );
  await expect(prose.locator("li")).toHaveText(["one", "two"]);
  await expect(prose.locator("td")).toHaveText(["1", "2"]);
  await expect(prose.locator("pre")).toContainText("select 1");
  await expect(prose.getByRole("link", { name: "Image: chart" })).toBeVisible();
});
