import { expect, test } from "./fixtures.ts";

const MAX_PAINT_MS = 300;
const LOADS = 3;

test("the frame of the page is painted before scripts and styles arrive", async ({ page }) => {
  const network = await page.context().newCDPSession(page);
  await network.send("Network.enable");
  // A slow mobile line.
  await network.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: 400,
    downloadThroughput: 50_000,
    uploadThroughput: 50_000,
  });
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/assets/**", async (route) => {
    await released;
    await route.fallback();
  });
  // Other work on the machine can only delay the paint, so the fastest load counts.
  const delays: number[] = [];
  for (let load = 0; load < LOADS; load += 1) {
    await page.goto("/", { waitUntil: "commit" });
    await page.waitForFunction(
      () => performance.getEntriesByName("first-contentful-paint").length > 0,
    );
    delays.push(
      await page.evaluate(() => {
        const [document] = performance.getEntriesByType("navigation");
        const [paint] = performance.getEntriesByName("first-contentful-paint");
        return (paint?.startTime ?? 0) - (document as PerformanceNavigationTiming).responseEnd;
      }),
    );
  }
  expect(Math.min(...delays)).toBeLessThan(MAX_PAINT_MS);
  await expect(page.locator("#boot")).toHaveCount(1);
  release();
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await expect(page.locator("#boot")).toHaveCount(0);
});
