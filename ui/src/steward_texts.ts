// Texts of the stewards of a domain.

export const stewardTexts = {
  heading: "Stewards",
  intro: "Stewards can edit everything in this domain and its subdomains.",
  none: "No stewards yet. They could edit everything in this domain and its subdomains.",
  add: "Add steward",
  addTitle: (domain: string) => `Add a steward to ${domain}`,
  filter: "Search users and groups",
  list: "Users and groups",
  group: "Group",
  chosen: "Steward",
  noMatch: (query: string) => `No users or groups match “${query}”`,
  remove: (name: string) => `Remove steward ${name}`,
  added: (name: string) => `${name} is now a steward.`,
  removed: (name: string) => `${name} is no longer a steward.`,
};
