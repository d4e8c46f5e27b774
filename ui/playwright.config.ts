import { defineConfig } from "@playwright/test";

// Needed to run as root and without a network.
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export default defineConfig({
  testDir: "tests",
  // Needs a build of DataHub's page; scripts/test-page says so.
  ...(process.env["DOCENT_DATAHUB_CHECKOUT"] ? {} : { testIgnore: "datahub/**" }),
  // Tests that only read behave the same on every engine.
  ...(process.env["DOCENT_TEST_STORE"] === "postgres" ? { grep: /@writes/ } : {}),
  workers: 2,
  // On a busy machine a browser can be slower than any user's. A second run has a new server; what
  // passes only then is reported as flaky, to be mended.
  retries: 1,
  timeout: 60_000,
  expect: { timeout: 15_000 },
  reporter: [["list"]],
  use: {
    browserName: "chromium",
    viewport: { width: 1280, height: 860 },
    locale: "en-GB",
    timezoneId: "UTC",
    actionTimeout: 10_000,
    launchOptions: {
      executablePath: process.env["DOCENT_TEST_BROWSER"] ?? "/usr/bin/chromium",
      args: FLAGS,
    },
  },
});
