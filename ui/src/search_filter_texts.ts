// Texts of the search filters for missing metadata. The names are those of the filters' values.

export const searchFilterTexts = {
  heading: "Missing",
  names: {
    false: "No description",
    domains: "No domain",
    owners: "No owner",
  } as Record<string, string>,
};
