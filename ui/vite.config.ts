import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

import { texts } from "./src/texts.ts";

/** Inserts texts into index.html, so that all texts stay in one file. */
const documentTexts = {
  name: "document-texts",
  transformIndexHtml: (html: string) =>
    html.replace("{locale}", texts.locale).replace("{noScript}", texts.noScript),
};

/** Moves the styles behind the frame of index.html, which browsers then show before they arrive. */
const stylesAfterFrame: Plugin = {
  name: "styles-after-frame",
  transformIndexHtml: {
    order: "post",
    handler: (html) => {
      const links = html.match(/ *<link rel="stylesheet"[^>]*>\n?/g) ?? [];
      const without = links.reduce((rest, link) => rest.replace(link, ""), html);
      return without.replace("  </body>", `${links.join("")}  </body>`);
    },
  },
};

// The output goes to the crate that embeds it; see docs/ARCHITECTURE.md.
export default defineConfig({
  plugins: [react(), documentTexts, stylesAfterFrame],
  // Preact implements React's API at a tenth of the size.
  resolve: {
    alias: {
      "react/jsx-runtime": "preact/jsx-runtime",
      "react/jsx-dev-runtime": "preact/jsx-runtime",
      "react-dom/client": "preact/compat/client",
      "react-dom": "preact/compat",
      react: "preact/compat",
    },
  },
  build: {
    outDir: "../crates/page/files/built",
    emptyOutDir: true,
    target: "es2023",
    // No data: URLs, which the Content-Security-Policy forbids for scripts and fonts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The size budget is enforced in scripts/finish.mjs.
    chunkSizeWarningLimit: 4000,
    manifest: true,
  },
  server: {
    port: 5173,
    proxy: Object.fromEntries(
      ["/api", "/logIn", "/logOut", "/openapi", "/config", "/health"].map((path) => [
        path,
        process.env["DOCENT_ADDRESS"] ?? "http://127.0.0.1:8080",
      ]),
    ),
  },
});
