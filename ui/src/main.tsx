import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { cache } from "./api/cache.ts";
import { Application } from "./application.tsx";
import { trackScrollPositions } from "./components/scroll.ts";
import { texts } from "./texts.ts";
import { applyTheme } from "./theme.ts";
import "./styles/index.css";

document.documentElement.lang = texts.locale;
applyTheme();
trackScrollPositions();
const root = document.getElementById("root");
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={cache}>
        <Application />
      </QueryClientProvider>
    </StrictMode>,
  );
}
