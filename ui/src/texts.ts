// Every text on the page. To translate the page, add a second object of the same type with its own
// `LOCALE` (in text_forms.ts) and choose between them at the end. Texts are whole sentences, because
// word order differs between languages: a text with a number or a name in it is a function, a text
// with a link in it has `{placeholders}` that `components/formatted_text.tsx` fills, and a text that
// depends on a count lists its forms in `plural`. Server messages are shown as sent, in English.
//
// Features that are loaded on demand import their own file (admin_texts.ts, lineage_texts.ts, …)
// instead, so that other pages do not load it.

import { changeTexts } from "./change_texts.ts";
import { announcementTexts, mineTexts, savedTexts, viewedTexts } from "./home_texts.ts";
import { entityTexts } from "./entity_texts.ts";
import { headerTexts } from "./header_texts.ts";
import { railTexts } from "./rail_texts.ts";
import { searchFilterTexts } from "./search_filter_texts.ts";
import { shellTexts } from "./shell_texts.ts";
import { LOCALE, count, list, plural, short } from "./text_forms.ts";

const datasetsOf = (number: number) => plural(number, { one: "# dataset", other: "# datasets" });
const domainsOf = (number: number) => plural(number, { one: "# domain", other: "# domains" });
const subdomainsOf = (number: number) =>
  plural(number, { one: "# subdomain", other: "# subdomains" });
const columnsOf = (number: number) => plural(number, { one: "# column", other: "# columns" });
const changesOf = (number: number) => plural(number, { one: "# change", other: "# changes" });

/** The non-zero ones of some counts as a list: "2 subdomains and 5 datasets". */
const countsOf = (subdomains: number, datasets: number) =>
  list([
    ...(subdomains > 0 ? [subdomainsOf(subdomains)] : []),
    ...(datasets > 0 ? [datasetsOf(datasets)] : []),
  ]);

const english = {
  locale: LOCALE,
  number: count,
  list,
  product: "Docent",
  title: (page: string) => `${page} · Docent`,
  noScript:
    "This page needs JavaScript. The catalog is also available through its API: POST /api/graphql.",

  shell: shellTexts,
  rail: railTexts,
  datasetHeader: headerTexts,
  entity: entityTexts,
  proposedChanges: (number: number) =>
    plural(number, { one: "# proposed change", other: "# proposed changes" }),
  changes: changeTexts,
  mine: mineTexts,
  saved: savedTexts,
  viewed: viewedTexts,
  announcements: announcementTexts,

  signIn: {
    title: "Sign in",
    user: "Username",
    password: "Password",
    submit: "Sign in",
    busy: "Signing in…",
    hint: "The server prints a username and password when it first starts. Others join by an invite link.",
    unreachable: "Can't reach the server. Check that it is running, then try again.",
    expired: {
      title: "Your session has expired",
      body: "Sign in again to continue. Nothing you typed has been lost.",
      switchUser: "Sign in as a different user",
    },
    sso: {
      button: (name: string) => `Sign in with ${name}`,
      or: "or with a password",
      failures: {
        unknown: "This identity provider is not set up. Choose another way to sign in.",
        provider:
          "The identity provider cannot be reached, or is not set up correctly. Try again, or tell an administrator.",
        denied: "The identity provider did not sign you in.",
        expired: "The sign-in took too long, or was begun in another browser. Try again.",
        name: "The account at the identity provider cannot be used here. Tell an administrator.",
        account: "Your account here does not exist, or is suspended. Ask an administrator.",
        password:
          "The account with your name has a password, and may be somebody else’s. Ask an administrator to link it.",
      } as Readonly<Record<string, string>>,
    },
  },

  search: {
    label: "Search the catalog",
    placeholder: "Search datasets, columns, descriptions, owners…",
    submit: "Search",
    title: (query: string, page: number) => {
      const search = query === "" ? "Search" : `Search: ${query}`;
      return page === 1 ? search : `${search} (page ${count(page)})`;
    },
    suggestions: "Suggestions",
    all: (query: string) => `Search for “${query}”`,
    results: (number: number) => plural(number, { one: "# result", other: "# results" }),
    none: (query: string) => `No results for “${query}”`,
    noneHint: "Check your spelling or try fewer words.",
    nonePhraseHint: "Words in quotation marks must follow one another. Try without them.",
    noneFiltered: (query: string) =>
      query === ""
        ? "No results match these filters"
        : `No results for “${query}” match these filters`,
    noneFilteredHint: "Try removing a filter.",
    emptyCatalog: "The catalog is empty",
    emptyCatalogHint:
      "Import metadata into this server, or start it with {option} to explore sample data.",
    filters: "Filters",
    filtersActive: (number: number) => (number === 0 ? "Filters" : `Filters (${count(number)})`),
    showResults: (number: number) =>
      plural(number, { one: "Show # result", other: "Show # results" }),
    clear: "Clear filters",
    remove: (name: string) => `Remove filter ${name}`,
    more: (number: number) => `Show ${count(number)} more`,
    fewer: "Show fewer",
    matchingColumns: "Matching columns",
    matchedLabels: {
      tags: "Tag",
      glossaryTerms: "Glossary term",
      owners: "Owner",
      domains: "Domain",
      fieldTags: "Tag of a column",
      fieldGlossaryTerms: "Glossary term of a column",
    },
    moreMatches: (number: number) => `and ${count(number)} more`,
    pagination: "Pagination",
    previous: "Previous",
    next: "Next",
    range: (from: number, to: number, total: number) =>
      `${count(from)}–${count(to)} of ${count(total)}`,
    topValues: (number: number) => `Showing the top ${count(number)}`,
    pastLastPage: "There are no more results.",
    lastPage: "Go to the last page",
    limited: (limit: number) =>
      `Only the first ${count(limit)} results are available. Refine your search to see more.`,
    facets: {
      _entityType: "Entity type",
      platform: "Platform",
      domains: "Domain",
      tags: "Tag",
      glossaryTerms: "Glossary term",
      owners: "Owner",
      container: "Container",
      typeNames: "Subtype",
      origin: "Environment",
    } as Record<string, string>,
    documented: "Documented",
    missing: searchFilterTexts,
    includingSubdomains: (domain: string) => `${domain} (including subdomains)`,
  },

  entityTypes: {
    DATASET: { one: "Dataset", many: "Datasets" },
    DOMAIN: { one: "Domain", many: "Domains" },
    CONTAINER: { one: "Container", many: "Containers" },
    TAG: { one: "Tag", many: "Tags" },
    GLOSSARY_TERM: { one: "Glossary term", many: "Glossary terms" },
    CORP_USER: { one: "User", many: "Users" },
    CORP_GROUP: { one: "Group", many: "Groups" },
    GLOSSARY_NODE: { one: "Term group", many: "Term groups" },
    DASHBOARD: { one: "Dashboard", many: "Dashboards" },
    CHART: { one: "Chart", many: "Charts" },
    DATA_FLOW: { one: "Pipeline", many: "Pipelines" },
    DATA_JOB: { one: "Task", many: "Tasks" },
    DATA_PRODUCT: { one: "Data product", many: "Data products" },
    DATA_PLATFORM: { one: "Platform", many: "Platforms" },
    SCHEMA_FIELD: { one: "Column", many: "Columns" },
  } as Record<string, { one: string; many: string }>,

  home: {
    title: "Home",
    heading: "What are you looking for?",
    summary: (datasets: number, domains: number) =>
      `${datasetsOf(datasets)} in ${domainsOf(domains)}`,
    domains: "Domains",
    domainsHint: "Dataset counts include subdomains.",
    allDomains: "View all domains",
    noDomains: "No domains yet",
    noDomainsHint: "Domains group datasets by business area or team.",
    recent: "Edited by people",
    noRecent: "No edits yet",
    allChanges: "View all changes",
    coverage: "Documentation coverage",
    coverageCaption: "Documented columns by domain",
    coverageTotal: (all: {
      datasets: number;
      describedDatasets: number;
      columns: number;
      describedColumns: number;
    }) =>
      `${count(all.describedDatasets)} of ${count(all.datasets)} datasets (${percent(all.describedDatasets, all.datasets)}) ` +
      `and ${count(all.describedColumns)} of ${count(all.columns)} columns (${percent(all.describedColumns, all.columns)}) are documented.`,
    coverageOf: (part: number, whole: number) => ({
      short: `${short(part)} / ${short(whole)}`,
      exact: `${count(part)} of ${columnsOf(whole)}`,
    }),
    noDomain: "No domain",
    coverageNone: "No datasets yet",
    undocumentedCount: (number: number) =>
      plural(number, {
        one: "Describe # dataset without a description",
        other: "Describe # datasets without a description",
      }),
    activity: "Changes per week",
    week: (day: string) => `Week of ${day}`,
    activityOf: (week: string, changes: number) => `Week of ${week}: ${changesOf(changes)}`,
    activityTotal: (changes: number, weeks: number) =>
      `${changesOf(changes)} in the last ${plural(weeks, { one: "# week", other: "# weeks" })}`,
  },

  aspects: {
    upstreamLineage: "Lineage",
    subTypes: "Subtype",
    container: "Container",
    datasetKey: "First seen",
    editableDatasetProperties: "Description",
    datasetProperties: "Imported properties",
    editableSchemaMetadata: "Column descriptions",
    schemaMetadata: "Columns",
    institutionalMemory: "Links",
    domains: "Domain",
    domainProperties: "Domain",
    ownership: "Owners",
    globalTags: "Tags",
    glossaryTerms: "Glossary terms",
    deprecation: "Deprecation",
    status: "Status",
    corpUserEditableInfo: "Profile",
    corpUserInfo: "Imported profile",
    corpUserStatus: "Account status",
    corpUserCredentials: "Password",
    roleMembership: "Role",
  } as Record<string, string>,
  otherAspect: "Metadata",

  dataset: {
    missing: "Dataset not found",
    missingHint:
      "It may have been deleted, or the link may be incomplete. Try searching for its name.",
    toSearch: "Search the catalog",
    environment: "Environment",
    copyLink: "Copy link",
    deleted: "This dataset has been deleted. You are viewing the version that was last loaded.",
    removed: "This dataset has been removed. Search does not find it; its metadata is kept.",
    stage: (name: string) => `Stage: ${name}`,
    deprecated: "Deprecated",
    deprecatedNotice: "This dataset is deprecated.",
    replacedBy: "Use {replacement} instead.",
    decommissioned: (day: string) => `It will be decommissioned on ${day}.`,
    wasDecommissioned: (day: string) => `It was decommissioned on ${day}.`,
    platform: "Platform",
    domain: "Domain",
    copyUrn: "Copy URN",
    external: (platform: string) => `View in ${platform}`,
    tabs: {
      overview: "Overview",
      columns: "Columns",
      lineage: "Lineage",
      quality: "Quality",
      usage: "Usage",
      queries: "Queries",
      properties: "Properties",
      forms: "Forms",
      history: "History",
    },
    tabTitle: (tab: string, dataset: string) => `${tab} of ${dataset}`,
    tabsLabel: "Dataset sections",
  },

  description: {
    heading: "Description",
    none: "No description yet",
    noneHint: (urn: string) =>
      urn.startsWith("urn:li:dataset:")
        ? "A good description explains what a row represents, where the data comes from and who uses it."
        : "A good description explains what this is, what it is used for and by whom.",
    add: "Add description",
    edit: "Edit",
    editLabel: "Edit description",
    imported: "Imported",
    importedAt: "Imported {when}",
    importedBy: "Imported {when} by {who}",
    edited: "Edited",
    editedAt: "Edited {when}",
    editedBy: "Edited {when} by {who}",
    editor: "Description (Markdown)",
    preview: "Preview",
    previewEmpty: "Nothing to preview",
    save: "Save",
    saving: "Saving…",
    cancel: "Cancel",
    shortcuts: "Ctrl+Enter to save, Esc to cancel",
    draft: "Unsaved draft restored",
    newerEdits: "Saved. You have newer unsaved changes.",
    discard: "Discard unsaved changes?",
    discardButton: "Discard",
    keep: "Keep editing",
    image: (alt: string) => `Image: ${alt}`,
    imageWithoutAlt: "Image",
    conflict: {
      title: "Someone else changed this description",
      body: "Your changes have not been saved. Compare the two versions and choose which one to keep.",
      theirs: "Saved version",
      by: (name: string, when: string) => `Edited ${when} by ${name}`,
      mine: "Your version",
      difference: "Differences",
      useMine: "Overwrite with mine",
      useTheirs: "Use theirs",
      keepEditing: "Keep editing",
    },
  },

  links: {
    heading: "Links",
    none: "No links yet",
    add: "Add link",
    url: "URL",
    label: "Label",
    save: "Save",
    cancel: "Cancel",
    edit: (label: string) => `Edit link ${label}`,
    remove: (label: string) => `Remove link ${label}`,
    editShort: "Edit",
    removeShort: "Remove",
    removed: (label: string) => `Link “${label}” removed.`,
    addedAt: "Added {when}",
    addedBy: "Added {when} by {who}",
    unsafe: "This type of link can't be opened here",
    urlMissing: "Enter a URL.",
    urlScheme: "The URL must start with https://, http://, ftp:// or mailto:",
    urlIncomplete: "The URL is incomplete. Copy the full address from your browser.",
    urlSpaces: "A URL can't contain spaces. Use %20 instead.",
    urlDuplicate: (label: string) => `This URL is already in the list as “${label}”.`,
    labelMissing: "Enter a label.",
    conflict: "Someone else changed or removed this link. Saving adds yours as a new link.",
    notSaved: "Not saved: someone else changed the links. Check the list and try again.",
  },

  domainPicker: {
    edit: "Edit domain",
    set: "Set domain",
    setShort: "Set",
    title: "Select a domain",
    filter: "Filter domains",
    remove: "Remove from domain",
    none: (query: string) => `No domains match “${query}”`,
    insideItself: (name: string) => `${name} can't be moved into itself or one of its subdomains.`,
    empty: "No domains yet. Create the first one on the Domains page.",
    current: "Current",
    topLevel: "Top level",
  },

  columns: {
    heading: "Columns",
    count: columnsOf,
    documented: (number: number) => `${count(number)} documented`,
    filter: "Filter columns",
    undocumentedOnly: "Undocumented only",
    allDocumented: "All columns are documented.",
    shown: (shown: number, all: number) => `${count(shown)} of ${columnsOf(all)}`,
    none: (query: string) => `No columns match “${query}”`,
    noSchema: "No schema has been imported for this dataset.",
    name: "Column",
    type: "Type",
    /** The bars below the types, in their order. */
    sharesLegend: "empty · distinct",
    description: "Description",
    key: "key",
    keyHint: "Part of the primary key",
    nullable: "Nullable",
    addLabel: (path: string) => `Add description for column ${path}`,
    editLabel: (path: string) => `Edit description for column ${path}`,
    editorLabel: (path: string) => `Description for column ${path}`,
    add: "Add description",
    imported: "Imported",
    hint: "Tab to save and go to the next column, Esc to cancel",
    historyLabel: (path: string) => `History of column ${path}`,
    labels: "Tags and glossary terms",
    labelsLabel: (path: string) => `Tags and glossary terms of column ${path}`,
    labelsTitle: (path: string) => `Tags and glossary terms of ${path}`,
    history: "History",
    elsewhere: "Same column elsewhere",
    elsewhereLabel: (column: string) => `Columns named ${column} in other datasets`,
    conflict: "Someone else changed this description to:",
    notSaved: (number: number) =>
      plural(number, {
        one: "# column has unsaved changes.",
        other: "# columns have unsaved changes.",
      }),
    missing: (path: string) => `Column ${path} no longer exists. This is your unsaved description:`,
    notSavedYet: "Not saved yet.",
    copy: "Copy text",
    discard: "Discard",
    overwrite: "Overwrite with mine",
    useTheirs: "Use theirs",
    expand: (path: string) => `Expand ${path}`,
    collapse: (path: string) => `Collapse ${path}`,
  },

  domains: {
    title: "Domains",
    create: "New domain",
    createSubdomain: "New subdomain",
    tree: "Domain tree",
    filter: "Filter domains",
    none: "No domains yet",
    noneHint:
      "A domain is a business area, such as Finance. It groups datasets and can have subdomains.",
    noneAskHint: "Ask an administrator to create the first one.",
    clearFilter: "Clear filter",
    noMatch: (query: string) => `No domains match “${query}”`,
    columns: { name: "Domain", direct: "Datasets", total: "Including subdomains" },
    counts: (direct: number, total: number) =>
      `${datasetsOf(direct)}, ${count(total)} including subdomains`,
    actions: (name: string) => `Actions for ${name}`,
    rename: "Rename…",
    move: "Move…",
    remove: "Delete…",
    expand: (name: string) => `Expand ${name}`,
    collapse: (name: string) => `Collapse ${name}`,
    optional: "(optional, supports Markdown)",
    topLevel: "Top level",
    createTitle: (parent: string | null) =>
      parent === null ? "New domain" : `New subdomain of ${parent}`,
    renameTitle: (name: string) => `Rename ${name}`,
    moveTitle: (name: string) => `Move ${name}`,
    moveTo: "Move to: {destination}",
    deleteTitle: (name: string) => `Delete ${name}?`,
    createButton: "Create",
    renameButton: "Rename",
    moveButton: "Move",
    deleteButton: "Delete",
    renamePreview: (datasets: number, subdomains: number) => {
      const linksKeepWorking = "Existing links keep working.";
      if (datasets + subdomains === 0) return linksKeepWorking;
      return `The new name also appears on ${countsOf(subdomains, datasets)}. ${linksKeepWorking}`;
    },
    movePreview: (subdomains: number, datasets: number) => {
      if (datasets + subdomains === 0) return "This domain has no subdomains or datasets.";
      return `Also moves ${countsOf(subdomains, datasets)}. Datasets stay in their current domains.`;
    },
    moveSame: "This domain is already there.",
    deletePreview: (datasets: number) =>
      datasets === 0
        ? "This domain has no datasets. Deleting it can't be undone."
        : plural(datasets, {
            one: "# dataset will be removed from this domain. This can't be undone.",
            other: "# datasets will be removed from this domain. This can't be undone.",
          }),
    deleteExamples: "Including:",
    deleteBlocked: (subdomains: number) =>
      plural(subdomains, {
        one: "This domain has # subdomain. Move or delete it first.",
        other: "This domain has # subdomains. Move or delete them first.",
      }),
    nameMissing: "Enter a name.",
    nameTaken: (name: string) => `A domain named “${name}” already exists here.`,
    nameSimilar: (name: string) =>
      `A domain named “${name}” already exists here. The names differ only in case.`,
    dropHere: "Drop here to move to the top level",
  },

  domain: {
    missing: "Domain not found",
    missingHint: "It may have been deleted.",
    toDomains: "View all domains",
    deleted: "This domain has been deleted. You are viewing the version that was last loaded.",
    subdomains: "Subdomains",
    datasets: "Datasets",
    includingSubdomains: "Including subdomains",
    noDirectDatasets:
      "No datasets are directly in this domain. Select “Including subdomains” to see the others.",
    noDatasets: "No datasets in this domain yet. To add one, open it and set its domain.",
    createdAt: "Created {when}",
    createdBy: "Created {when} by {who}",
    others: "Also in this domain",
    tabsLabel: "Domain sections",
    search: "Search in this domain",
  },

  history: {
    title: (name: string) => `History of ${name}`,
    description: "Description",
    imported: "Imported description",
    ofColumn: (path: string) => `Column ${path}`,
    columnOf: (path: string, dataset: string) => `${path} in ${dataset}`,
    ofDataset: "Back to dataset history",
    none: "No changes yet",
    incomplete: "Older versions are no longer available.",
    changedAt: "Changed {when}",
    changedBy: "Changed {when} by {who}",
    restore: "Restore",
    restoreLabel: (when: string) => `Restore version from ${when}`,
    restoreTitle: "Restore this version?",
    restorePreview: "Restoring it makes these changes:",
    restoreButton: "Restore",
    current: "Current",
    first: "First version",
    emptied: "Description removed",
    conflict:
      "Someone else changed the description. Close this dialog and review the latest version first.",
    addedWords: "added",
    removedWords: "removed",
  },

  shortcuts: {
    title: "Keyboard shortcuts",
    list: [
      { keys: ["/"], alternative: ["Ctrl", "K"], action: "Search" },
      { keys: ["↓", "↑"], action: "Next and previous result" },
      { keys: ["Enter"], action: "Open the selected result" },
      { keys: ["e"], action: "Edit the description" },
      { keys: ["Ctrl", "Enter"], action: "Save" },
      { keys: ["Tab"], action: "Save a column description and go to the next column" },
      { keys: ["Esc"], action: "Cancel" },
      { keys: ["g", "h"], action: "Go to the home page" },
      { keys: ["g", "d"], action: "Go to domains" },
      { keys: ["?"], action: "Show keyboard shortcuts" },
    ] as ReadonlyArray<{
      keys: readonly string[];
      alternative?: readonly string[];
      action: string;
    }>,
    or: "or",
    singleKey: "Enable single-key shortcuts (/, ?, e, g h and g d)",
    disabled: "Single-key shortcuts are turned off. You can turn them on in Settings.",
  },

  errors: {
    deletedMeanwhile:
      "This has been deleted since you opened it, so your change can't be saved. What you typed is still here: copy it, or save again once the entity is back.",
    retry: "Try again",
    required: "This field is required.",
    offline: "Can't reach the server. Check that it is running and that you are online.",
    notFound: "Page not found",
    notFoundHint: "Check the address or start from the home page.",
    notFoundTitle: "Not found",
    unexpected: (status: number) =>
      `The server returned an error (status ${status}). See the server log for details.`,
    sessionExpired:
      "Your session has expired. Sign in again and retry. Nothing you typed has been lost.",
    stale: (reason: string) => `This page may be out of date. ${reason}`,
    reload: "Reload page",
    crashed: {
      title: "Something went wrong",
      body: "An unexpected error stopped this page. Saved changes are safe. Reload the page, and contact your administrator if the error comes back.",
    },
    updated: {
      title: "A new version is available",
      body: "The server has been updated. Reload the page to continue. Saved changes are safe.",
    },
    unreachable: {
      title: "Can't reach the server",
      body: "Part of this page couldn't be loaded. Check that the server is running and that you are online, then reload the page.",
    },
  },

  common: {
    cancel: "Cancel",
    impact: "What this affects",
    name: "Name",
    copy: "Copy",
    restricted: "Restricted",
    copied: "Copied",
    close: "Close",
    undo: "Undo",
    /** A table that is wider than the window. */
    wideTable: "Table, scrolls sideways",
    showAll: "Show all",
    showLess: "Show less",
    system: "System",
    unknown: "Unknown",
    unknownTime: "unknown date",
    justNow: "just now",
    changedBy: "{when} by {who}",
  },
};

function percent(part: number, whole: number): string {
  if (whole === 0) return "0%";
  return new Intl.NumberFormat(LOCALE, { style: "percent" }).format(part / whole);
}

export type Texts = typeof english;

export const texts: Texts = english;
