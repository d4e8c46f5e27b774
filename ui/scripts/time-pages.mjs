// Times pages in a real browser. Reads {"address", "token", "paths"} as JSON from standard input, and
// prints a JSON list with the milliseconds that each path took to be complete. The benchmark of the
// page starts it (bench/src/measure/web_page.rs).
//
// A page is complete at the last change of its document before half a second without a change and
// without a request under way. Each visit has a new browser profile, so nothing comes from a cache.

import { text } from "node:stream/consumers";

import { chromium } from "@playwright/test";

// Needed to run as root.
const BROWSER = {
  executablePath: process.env["DOCENT_TEST_BROWSER"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
};
const QUIET_MS = 500;
const LIMIT_MS = 60_000;

/** Runs in the page before its scripts. */
function recordChanges() {
  window.lastChange = 0;
  new MutationObserver(() => (window.lastChange = performance.now())).observe(document, {
    subtree: true,
    childList: true,
    characterData: true,
    attributes: true,
  });
}

async function time(browser, address, token, path) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 860 },
    extraHTTPHeaders: { authorization: `Bearer ${token}` },
  });
  try {
    const page = await context.newPage();
    await page.addInitScript(recordChanges);
    const pending = new Set();
    page.on("request", (request) => pending.add(request));
    page.on("requestfinished", (request) => pending.delete(request));
    page.on("requestfailed", (request) => pending.delete(request));
    const failed = [];
    page.on("pageerror", (error) => failed.push(String(error)));
    page.on("response", (response) => {
      if (response.status() >= 400) failed.push(`${response.status()} ${response.url()}`);
    });
    await page.goto(address + path, { waitUntil: "load" });
    const started = Date.now();
    for (;;) {
      await page.waitForFunction(
        (quiet) => performance.now() - window.lastChange > quiet,
        QUIET_MS,
      );
      if (pending.size === 0) break;
      if (Date.now() - started > LIMIT_MS)
        throw new Error(`${path} is not complete after a minute`);
      await page.waitForTimeout(QUIET_MS / 10);
    }
    for (const alert of await page.getByRole("alert").allInnerTexts()) {
      if (alert.trim() !== "") failed.push(alert);
    }
    if ((await page.locator("main h1").count()) === 0) failed.push("there is no heading");
    if (failed.length > 0) throw new Error(`${path}: ${failed.join("; ")}`);
    return await page.evaluate(() => window.lastChange);
  } finally {
    await context.close();
  }
}

const { address, token, paths } = JSON.parse(await text(process.stdin));
const browser = await chromium.launch(BROWSER);
try {
  const times = [];
  for (const path of paths) times.push(await time(browser, address, token, path));
  console.log(JSON.stringify(times));
} finally {
  await browser.close();
}
