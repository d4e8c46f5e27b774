// Every text that the page shows, in one place. To translate the page: make a second object of the same type, with its own
// `LOCALE`, and choose between them at the end. Texts are whole sentences, because languages differ in how they build them:
// one with a number or a name in it is a function, one with a link in it has `{names}` that `components/sentence.tsx` fills,
// and one that changes with a number has its forms in `plural`. What the server answers
// is in its own words, and they are English.

const LOCALE = "en";

const count = (number: number) => new Intl.NumberFormat(LOCALE).format(number);
/** For places where a large number has no room. */
const short = (number: number) =>
  new Intl.NumberFormat(LOCALE, number < 10_000 ? {} : { notation: "compact", maximumSignificantDigits: 3 }).format(
    number,
  );

/** A text in each form that the language has for numbers. `#` stands for the number. */
type Forms = { readonly other: string } & Readonly<Partial<Record<Intl.LDMLPluralRule, string>>>;
const rules = new Intl.PluralRules(LOCALE);
const plural = (number: number, forms: Forms) =>
  (forms[rules.select(number)] ?? forms.other).replaceAll("#", count(number));

const lists = new Intl.ListFormat(LOCALE);
const list = (names: readonly string[]) => lists.format(names);

const datasetsOf = (number: number) => plural(number, { one: "# dataset", other: "# datasets" });
const domainsOf = (number: number) => plural(number, { one: "# domain", other: "# domains" });
const columnsOf = (number: number) => plural(number, { one: "# column", other: "# columns" });
const changesOf = (number: number) => plural(number, { one: "# change", other: "# changes" });

const english = {
  locale: LOCALE,
  number: count,
  product: "Docent",
  title: (page: string) => `${page} · Docent`,
  noScript: "This page needs JavaScript. The catalog can also be read by its API: POST /api/graphql.",

  shell: {
    skip: "Skip to the content",
    home: "Docent, home",
    domains: "Domains",
    explorer: "GraphQL",
    navigation: "Main",
    account: (name: string) => `Account of ${name}`,
    signOut: "Sign out",
    theme: { label: "Appearance", system: "As the system", light: "Light", dark: "Dark" },
  },

  signIn: {
    title: "Sign in",
    user: "User name",
    password: "Password",
    submit: "Sign in",
    busy: "Signing in…",
    hint: "The first start of the server prints a user and a password. An operator adds people with “docent user add”.",
    unreachable: "The server does not answer. Check that it is running, then try again.",
    again: {
      title: "Your session has ended",
      body: "Sign in again to go on. What you typed is still here.",
      other: "Sign in as somebody else",
    },
  },

  search: {
    label: "Search the catalog",
    placeholder: "Search tables, columns, descriptions, people…",
    submit: "Search",
    title: (query: string, page: number) => {
      const what = query === "" ? "Everything" : `Search: ${query}`;
      return page === 1 ? what : `${what}, page ${count(page)}`;
    },
    suggestions: "Suggestions",
    all: (query: string) => `Search everything for “${query}”`,
    results: (number: number) => plural(number, { one: "# result", other: "# results" }),
    none: (query: string) => `Nothing matches “${query}”.`,
    noneHint: "Check the spelling or use fewer words. One wrong letter is forgiven in longer words.",
    noneFiltered: (query: string) =>
      query === "" ? "Nothing passes all these filters." : `Nothing that matches “${query}” passes all these filters.`,
    noneFilteredHint: "Take one back, or all of them.",
    nothingYet: "The catalog is empty.",
    nothingYetHint: "Point an ingestion at this server, or start it with {option} to look around.",
    filters: "Filters",
    filtersChosen: (number: number) => (number === 0 ? "Filters" : `Filters (${count(number)})`),
    showResults: (number: number) => plural(number, { one: "Show # result", other: "Show # results" }),
    clear: "Clear all filters",
    remove: (name: string) => `Remove the filter ${name}`,
    more: (number: number) => `${count(number)} more`,
    fewer: "Fewer",
    matchedColumns: "Columns",
    moreMatches: (number: number) => `and ${count(number)} more`,
    pages: "Pages",
    previous: "Previous",
    next: "Next",
    range: (from: number, to: number, total: number) => `${count(from)}–${count(to)} of ${count(total)}`,
    mostFrequent: (number: number) => `The ${count(number)} most frequent.`,
    beyond: "There are not so many pages.",
    toLast: "Go to the last one",
    deep: (most: number) =>
      `Only the first ${count(most)} results can be paged through. Narrow the search to see the rest.`,
    facets: {
      _entityType: "Kind",
      platform: "Platform",
      domains: "Domain",
      tags: "Tag",
      glossaryTerms: "Term",
      owners: "Owner",
      container: "Container",
      typeNames: "Type",
      origin: "Environment",
    } as Record<string, string>,
    documented: "Documented",
    undocumented: "Not documented",
    withBelow: (domain: string) => `${domain}, with all below`,
  },

  kinds: {
    DATASET: { one: "Dataset", many: "Datasets" },
    DOMAIN: { one: "Domain", many: "Domains" },
    CONTAINER: { one: "Container", many: "Containers" },
    TAG: { one: "Tag", many: "Tags" },
    GLOSSARY_TERM: { one: "Term", many: "Terms" },
    CORP_USER: { one: "Person", many: "People" },
    CORP_GROUP: { one: "Group", many: "Groups" },
  } as Record<string, { one: string; many: string }>,

  home: {
    title: "Home",
    heading: "What are you looking for?",
    summary: (datasets: number, domains: number) => `${datasetsOf(datasets)} in ${domainsOf(domains)}`,
    domains: "Domains",
    domainsHint: "Datasets in each, with everything below it.",
    allDomains: "All domains",
    noDomains: "There are no domains yet. They group datasets by the part of the organisation that knows them.",
    recent: "Recently changed",
    noRecent: "Nothing has been changed yet.",
    coverage: "Documentation",
    coverageHint: "Columns with a description, by domain.",
    coverageTotal: (all: { datasets: number; describedDatasets: number; columns: number; describedColumns: number }) =>
      `${count(all.describedDatasets)} of ${count(all.datasets)} datasets (${percent(all.describedDatasets, all.datasets)}) ` +
      `and ${count(all.describedColumns)} of ${count(all.columns)} columns (${percent(all.describedColumns, all.columns)}) are described.`,
    coverageOf: (part: number, whole: number) => ({
      short: `${short(part)} / ${short(whole)}`,
      exact: `${count(part)} of ${columnsOf(whole)}`,
    }),
    coverageNone: "There are no datasets yet.",
    undocumented: "Datasets without a description",
    activity: "Changes by week",
    week: (day: string) => `Week of ${day}`,
    activityOf: (week: string, changes: number) => `Week of ${week}: ${changesOf(changes)}`,
    activityTotal: (changes: number, weeks: number) =>
      `${changesOf(changes)} in ${plural(weeks, { one: "# week", other: "# weeks" })}`,
  },

  aspects: {
    upstreamLineage: "lineage",
    subTypes: "type",
    container: "container",
    datasetKey: "first seen",
    editableDatasetProperties: "description",
    datasetProperties: "ingested properties",
    editableSchemaMetadata: "column descriptions",
    schemaMetadata: "columns",
    institutionalMemory: "links",
    domains: "domain",
    domainProperties: "domain",
    ownership: "owners",
    globalTags: "tags",
    glossaryTerms: "terms",
    deprecation: "deprecation",
    status: "status",
  } as Record<string, string>,
  aspectOther: "metadata",

  dataset: {
    missing: "This dataset does not exist.",
    missingHint: "It may have been removed, or the address is not complete. Search for its name instead.",
    gone: "This dataset has been deleted meanwhile. What you see is how it was.",
    toSearch: "All datasets",
    removed: "This dataset was removed at its source. What is known about it is still here.",
    deprecated: "Deprecated: this dataset should no longer be used.",
    facts: "Facts",
    platform: "Platform",
    domain: "Domain",
    noDomain: "none",
    owners: "Owners",
    noOwners: "none",
    tags: "Tags",
    terms: "Terms",
    identifier: "URN",
    copyIdentifier: "Copy the URN",
    external: "Open at the source",
    properties: (number: number) => plural(number, { one: "# property", other: "# properties" }),
    sections: { overview: "Overview", history: "History" },
    sectionsLabel: "Sections of the dataset",
  },

  description: {
    heading: "Description",
    none: "Nobody has described this yet.",
    noneHint: "A good description says what one row stands for, where the data comes from, and who uses it.",
    write: "Write a description",
    edit: "Edit",
    editLabel: "Edit the description",
    ingested: "From ingestion",
    person: "Written by people",
    lastChanged: "Last changed",
    editor: "Text of the description, in Markdown",
    preview: "Preview",
    previewEmpty: "Nothing to show yet.",
    save: "Save",
    saving: "Saving…",
    cancel: "Cancel",
    savingHint: "Ctrl+Enter saves, Esc leaves.",
    draft: "This is what you wrote before. It is not saved yet.",
    savedBefore: "Saved. What you typed since then is not saved yet.",
    discard: "The text is not saved. Throw it away?",
    image: (alt: string) => `Picture: ${alt}`,
    imageWithoutName: "Picture",
    conflict: {
      title: "Somebody else changed the description meanwhile",
      body: "Nothing was saved. Compare both texts and decide; your text stays in the editor until you do.",
      theirs: "Saved now",
      by: (name: string, when: string) => `Changed by ${name}, ${when}.`,
      mine: "Yours",
      difference: "What would change",
      useMine: "Save mine instead",
      useTheirs: "Take theirs",
      goOn: "Go on editing mine",
    },
  },

  links: {
    heading: "Links",
    none: "No links yet.",
    add: "Add a link",
    address: "Address",
    label: "Label",
    save: "Save",
    cancel: "Cancel",
    edit: (label: string) => `Edit the link ${label}`,
    remove: (label: string) => `Remove the link ${label}`,
    editShort: "Edit",
    removeShort: "Remove",
    removed: (label: string) => `The link “${label}” was removed.`,
    undo: "Undo",
    unsafe: "This address cannot be opened from here.",
    addressMissing: "Enter an address.",
    addressScheme: "Begin the address with https://, http://, ftp:// or mailto:",
    addressIncomplete: "The address is not complete. Copy the whole of it, as it stands in the browser.",
    addressSpaces: "An address has no spaces. Write %20 in their place.",
    addressTaken: (label: string) => `This address is in the list already, as “${label}”.`,
    labelMissing: "Enter what the link leads to.",
    gone: "Somebody else changed or removed this link meanwhile. Saving adds yours to the list.",
    changedMeanwhile: "Nothing was changed: somebody else changed the links meanwhile. Look at the list and try again.",
  },

  domainPicker: {
    change: "Edit the domain",
    set: "Set a domain",
    setShort: "Set",
    title: "Choose a domain",
    filter: "Filter domains",
    remove: "Remove from the domain",
    none: (query: string) => `No domain is called “${query}”.`,
    inside: (name: string) => `${name} cannot be moved into itself, nor into a domain inside it.`,
    empty: "There are no domains yet. Create the first one on the page Domains.",
    current: "current",
    top: "At the top",
  },

  columns: {
    heading: "Columns",
    count: columnsOf,
    described: (number: number, all: number) => `${count(number)} of ${count(all)} described`,
    filter: "Filter columns",
    shown: (shown: number, all: number) => `${count(shown)} of ${count(all)} columns`,
    none: (query: string) => `No column matches “${query}”.`,
    noSchema: "No columns are known. Ingestion has not reported a schema for this dataset.",
    name: "Column",
    type: "Type",
    description: "Description",
    key: "key",
    keyHint: "Part of the primary key",
    nullable: "may be null",
    describe: (path: string) => `Add a description of the column ${path}`,
    edit: (path: string) => `Edit the description of the column ${path}`,
    editing: (path: string) => `Description of the column ${path}`,
    add: "Add a description",
    ingested: "from ingestion",
    hint: "Tab saves and goes to the next column, Esc leaves.",
    history: (path: string) => `History of the column ${path}`,
    historyShort: "History",
    conflict: "Somebody else changed this description meanwhile. It now says:",
    notSaved: (number: number) =>
      plural(number, {
        one: "The description of # column is not saved. It waits for you in its row.",
        other: "The descriptions of # columns are not saved. They wait for you in their rows.",
      }),
    gone: (path: string) => `The column ${path} is no longer there. This is what you wrote about it:`,
    copy: "Copy the text",
    discard: "Throw it away",
    overwrite: "Save mine instead",
    takeTheirs: "Take theirs",
    expand: (path: string) => `Show the fields of ${path}`,
    collapse: (path: string) => `Hide the fields of ${path}`,
  },

  domains: {
    title: "Domains",
    create: "New domain",
    createInside: "New domain inside",
    tree: "Tree of domains",
    filter: "Filter domains",
    none: "There are no domains yet.",
    noneHint:
      "A domain is a part of the organisation, such as Finance. Datasets are put into one, and domains can be nested.",
    noneAskHint: "Ask whoever looks after this catalog to make the first one.",
    clearFilter: "Show all domains",
    noMatch: (query: string) => `No domain is called “${query}”.`,
    columns: { name: "Domain", direct: "Datasets", recursive: "With all below" },
    counts: (direct: number, recursive: number) => `${datasetsOf(direct)}, ${count(recursive)} with all below`,
    actions: (name: string) => `Actions for ${name}`,
    rename: "Rename…",
    move: "Move…",
    remove: "Delete…",
    expand: (name: string) => `Show what is inside ${name}`,
    collapse: (name: string) => `Hide what is inside ${name}`,
    name: "Name",
    description: "Description",
    optional: "optional, Markdown",
    top: "At the top",
    cancel: "Cancel",
    createTitle: (parent: string | null) => (parent === null ? "New domain" : `New domain inside ${parent}`),
    renameTitle: (name: string) => `Rename ${name}`,
    moveTitle: (name: string) => `Move ${name}`,
    moveTo: "Move to: {place}",
    deleteTitle: (name: string) => `Delete ${name}?`,
    createDo: "Create",
    renameDo: "Rename",
    moveDo: "Move",
    deleteDo: "Delete",
    renamePreview: (datasets: number, children: number) => {
      const places = [
        ...(datasets > 0 ? [`on ${datasetsOf(datasets)}`] : []),
        ...(children > 0 ? [`above ${domainsOf(children)}`] : []),
      ];
      const stays = "Addresses stay as they are.";
      return places.length === 0 ? stays : `The new name is shown ${list(places)}. ${stays}`;
    },
    movePreview: (below: number, datasets: number) =>
      `With it move: ${list([domainsOf(below), datasetsOf(datasets)])}. No dataset changes its domain.`,
    moveSame: "It is there already.",
    deletePreview: (datasets: number) =>
      datasets === 0
        ? "It has no datasets. This cannot be undone."
        : plural(datasets, {
            one: "# dataset is taken out of it and will be in no domain. This cannot be undone.",
            other: "# datasets are taken out of it and will be in no domain. This cannot be undone.",
          }),
    deleteSome: "Among them:",
    deleteBlocked: (children: number) =>
      plural(children, {
        one: "It has # domain inside. Move or delete it first.",
        other: "It has # domains inside. Move or delete them first.",
      }),
    nameMissing: "Enter a name.",
    nameTaken: (name: string) => `There is a “${name}” in the same place already.`,
    nameAlike: (name: string) => `There is a “${name}” in the same place already. They differ by capital letters only.`,
    dropHere: "Drop here to move it to the top",
  },

  domain: {
    missing: "This domain does not exist.",
    missingHint: "It may have been deleted. The page Domains shows all that there are.",
    gone: "This domain has been deleted meanwhile. What you see is how it was.",
    children: "Inside",
    datasets: "Datasets",
    including: "with all below",
    noDirectDatasets:
      "No dataset is directly in this domain. Tick “with all below” to see those of the domains inside.",
    noDatasets: "No dataset is in this domain. Open a dataset and set its domain.",
    created: "created by {stamp}",
    owners: (names: readonly string[]) => `owned by ${list(names)}`,
    sectionsLabel: "Sections of the domain",
    all: "Search in this domain",
  },

  history: {
    title: (name: string) => `History of ${name}`,
    description: "Description, written by people",
    ingested: "Description, from ingestion",
    domain: "Domain",
    ofColumn: (path: string) => `Column ${path}`,
    columnOf: (path: string, dataset: string) => `${path} in ${dataset}`,
    allOfDataset: "History of the dataset",
    none: "Nothing has happened yet.",
    incomplete: "Older versions are no longer kept.",
    restore: "Restore",
    restoreLabel: (when: string) => `Restore the version of ${when}`,
    restoreTitle: "Restore this version?",
    restorePreview: "What would change:",
    restoreDo: "Restore",
    current: "current",
    emptied: "The text was removed.",
    unassigned: "taken out of its domain",
    assigned: "put into {domain}",
    assignedGone: "put into {domain}, which was deleted since and cannot be restored",
    domainGone:
      "This domain was deleted and is no longer there, so nothing can be put into it. Choose another domain on the overview.",
    changedMeanwhile:
      "Somebody else changed the description meanwhile. Close this and look at the newest version before you restore an older one.",
    first: "first version",
    added: "added",
    removedWords: "removed",
    pickColumn: "Columns have a history of their own: open it from the table of columns.",
  },

  settings: {
    title: "Settings",
    titleOf: (section: string) => `${section}, settings`,
    sections: { tokens: "Access tokens", users: "People", appearance: "Appearance and keys" },
    sectionsLabel: "Sections of the settings",
  },

  tokens: {
    intro: "Programs use a token in place of a password. It may do what you may do.",
    create: "New token",
    name: "Name",
    nameHint: "What it is for, such as “nightly ingestion”.",
    expiry: "Expires after",
    durations: {
      ONE_HOUR: "1 hour",
      ONE_DAY: "1 day",
      ONE_WEEK: "7 days",
      ONE_MONTH: "30 days",
      THREE_MONTHS: "90 days",
      SIX_MONTHS: "180 days",
      ONE_YEAR: "1 year",
    },
    createDo: "Create",
    cancel: "Cancel",
    shownOnce: "Copy the token now: it is not shown again.",
    secret: "The new token",
    copy: "Copy",
    done: "Done",
    none: "You have no tokens.",
    noneHint: "Make one for each program, so that it can be revoked without the others.",
    columns: { name: "Name", created: "Created", expires: "Expires", lastUsed: "Last used" },
    never: "never",
    expired: "expired",
    revoke: "Revoke",
    revokeLabel: (name: string, created: string) => `Revoke the token ${name}, created ${created}`,
    revokeTitle: (name: string) => `Revoke ${name}?`,
    revokeBody: "Programs that use it are refused at once. This cannot be undone.",
    nameUsed: (name: string) => `You have a token called “${name}” already. Another name tells them apart.`,
    notAllowed: "You may not create tokens. Ask an administrator.",
    nameMissing: "Enter a name.",
  },

  users: {
    intro: "Everybody whom the catalog knows. Operators add and suspend people with “docent user”.",
    columns: { name: "Name", user: "User name", email: "Mail", signIn: "Signs in", status: "Status" },
    withPassword: "with a password",
    noSignIn: "not here",
    active: "active",
    suspended: "suspended",
    filter: "Find people",
    none: (query: string) => (query === "" ? "Nobody is known yet." : `Nobody is called “${query}”.`),
    noneHint: "An operator adds people with “docent user add”; ingestion brings those who own something.",
    showAll: "Show everybody",
    notAllowed: "Only administrators see the list of people.",
  },

  explorer: {
    title: "GraphQL",
    hint: "Ask the catalog. Ctrl+Enter runs, Ctrl+Space completes.",
  },

  keys: {
    title: "Keys",
    list: [
      { keys: ["/"], also: ["Ctrl", "K"], does: "Search" },
      { keys: ["↓", "↑"], does: "Next and previous result" },
      { keys: ["Enter"], does: "Open the result or the suggestion" },
      { keys: ["e"], does: "Edit the description" },
      { keys: ["Ctrl", "Enter"], does: "Save" },
      { keys: ["Tab"], does: "In a column’s description: save and go to the next column" },
      { keys: ["Esc"], does: "Leave without saving" },
      { keys: ["g", "h"], does: "Go home" },
      { keys: ["g", "d"], does: "Go to the domains" },
      { keys: ["?"], does: "Show these keys" },
    ] as ReadonlyArray<{ keys: readonly string[]; also?: readonly string[]; does: string }>,
    or: "or",
    single: "Keys of one letter or sign act: / ? e, and g before another",
    off: "Keys of one letter or sign are turned off. The settings turn them on again.",
  },

  errors: {
    retry: "Try again",
    offline: "The server does not answer. Check that it is running and that you are online.",
    notFound: "There is no such page.",
    notFoundHint: "Check the address, or begin at the home page.",
    notFoundTitle: "Not found",
    unexpected: (status: number) => `The server answered with status ${status}. Its log says more.`,
    sessionEnded:
      "Your session has ended. Sign in again, then repeat what you were doing: what you typed is still here.",
    outdated: (reason: string) => `What is shown may be old, because it could not be read again. ${reason}`,
    reload: "Load the page again",
    crashed: {
      title: "Something went wrong",
      body: "This page has a defect and stopped. What you saved is safe. Load the page again; if that does not help, tell whoever looks after this server what you did.",
    },
    updated: {
      title: "The page was updated",
      body: "The server has a newer version of this page. Load it again to go on; what you saved is safe.",
    },
    unreachable: {
      title: "The server cannot be reached",
      body: "A part of this page could not be loaded. Check that the server is running and that you are online, then load the page again.",
    },
  },

  common: {
    copy: "Copy",
    copied: "Copied",
    close: "Close",
    system: "the system",
    someone: "somebody",
    unknownTime: "at an unknown time",
    stamp: "{who}, {when}",
  },
};

function percent(part: number, whole: number): string {
  if (whole === 0) return "0%";
  return new Intl.NumberFormat(LOCALE, { style: "percent" }).format(part / whole);
}

export type Texts = typeof english;

export const texts: Texts = english;
