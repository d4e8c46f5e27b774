import config from "./playwright.config.ts";

// `npm run screenshots` refreshes the screenshots in docs/images.
export default { ...config, testDir: "screenshots", workers: 1 };
