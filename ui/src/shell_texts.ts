// The part of texts.ts about the frame around every page.

export const shellTexts = {
  skip: "Skip to content",
  home: "Docent home",
  navigation: "Main",
  browse: "Browse",
  menu: "Menu",
  account: (name: string) => `Account menu for ${name}`,
  administration: "Administration",
  proposals: {
    title: "Proposals",
    link: (pending: string) => `Proposals (${pending})`,
    waiting: "Proposed: waiting for approval.",
    view: "View proposals",
  },
  signOut: "Sign out",
  /** The sections of the settings that everybody has. */
  personal: { tokens: "Access tokens", account: "Account", appearance: "Preferences" },
  theme: { label: "Theme", system: "Match system", light: "Light", dark: "Dark" },
  /** The entries of the navigation; see navigation.ts. */
  entries: {
    domains: "Domains",
    glossary: "Glossary",
    tags: "Tags",
    platforms: "Platforms",
    products: "Data products",
    people: "People",
    changes: "Changes",
    api: "API",
  },
};
