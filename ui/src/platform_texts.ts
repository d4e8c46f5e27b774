// Texts of platforms, their containers, and how dashboards, charts, pipelines and
// tasks are connected.

import { count, plural } from "./text_forms.ts";

export const platformTexts = {
  title: "Platforms",
  hint: "Open a platform to see its databases, schemas and folders.",
  none: "No platforms yet",
  noneHint: "Platforms appear with the first imported dataset.",
  environment: "Environment",
  allEnvironments: "All environments",
  expand: (name: string) => `Expand ${name}`,
  collapse: (name: string) => `Collapse ${name}`,
  entities: (number: number) => plural(number, { one: "# entity", other: "# entities" }),
  folders: "Databases, schemas and folders",
  /** What has no path of containers or folders. */
  noPath: "Not in a folder",
  noFolders: "No databases, schemas or folders",
  cut: (shown: number, total: number) => `${count(shown)} of ${count(total)} are shown.`,
  showMore: "Show more",
  connections: {
    charts: "Charts",
    noCharts: "No charts yet",
    dashboards: "Dashboards in it",
    reads: "Datasets it reads",
    noReads: "No datasets yet",
    usedBy: "Dashboards with it",
    noUsedBy: "In no dashboard yet",
    tasks: "Tasks",
    noTasks: "No tasks yet",
    inputs: "Inputs",
    noInputs: "No inputs yet",
    outputs: "Outputs",
    noOutputs: "No outputs yet",
    after: "Runs after",
  },
};
