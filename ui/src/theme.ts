// Light, dark or matching the system. The choice is stored in the browser.

export type Theme = "system" | "light" | "dark";

const KEY = "docent.theme";

export function theme(): Theme {
  try {
    const stored = localStorage.getItem(KEY);
    return stored === "light" || stored === "dark" ? stored : "system";
  } catch {
    return "system";
  }
}

export function applyTheme(chosen: Theme = theme()): void {
  if (chosen === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = chosen;
}

export function setTheme(chosen: Theme): void {
  try {
    if (chosen === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, chosen);
  } catch {
    // Storage is blocked: the choice lasts until the page is closed.
  }
  applyTheme(chosen);
}

/** The accent color of the current theme as #rrggbb, which fields for colors need. */
export function accentColor(): string {
  const probe = document.createElement("span");
  probe.style.color = "var(--accent)";
  document.body.append(probe);
  const parts = getComputedStyle(probe).color.match(/\d+/g) ?? [];
  probe.remove();
  return `#${parts
    .slice(0, 3)
    .map((part) => Number(part).toString(16).padStart(2, "0"))
    .join("")}`;
}
