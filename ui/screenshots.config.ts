import stories from "./playwright.config.ts";

// The pictures of docs/images; `npm run screenshots` takes them anew.
export default { ...stories, testDir: "screenshots", workers: 1 };
