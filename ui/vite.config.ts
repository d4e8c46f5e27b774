import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

import { texts } from "./src/texts.ts";

/** What index.html says stands with all other texts. */
const inDocument = {
  name: "texts-in-document",
  transformIndexHtml: (html: string) => html.replace("{locale}", texts.locale).replace("{noScript}", texts.noScript),
};

// The build lands in the crate that embeds it; see docs/ARCHITECTURE.md.
export default defineConfig({
  plugins: [react(), inDocument],
  // Preact speaks React's interface and weighs a tenth of it.
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
    // Small files stay files: the Content-Security-Policy allows no script or font in an address.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // scripts/finish.mjs has the limits that count.
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
