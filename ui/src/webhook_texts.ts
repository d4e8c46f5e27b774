// The part of texts.ts about webhooks, which only their section of the settings loads.

import { count, plural } from "./text_forms.ts";

export const webhookTexts = {
  intro: "Webhooks send changes of the catalog to other programs.",
  create: "New webhook",
  none: "No webhooks yet",
  noneHint:
    "A webhook sends each change of the catalog to an address, for example to inform a chat, to open a ticket or to keep a copy in another system. Create one with the address of the receiver, copy its secret to the receiver, and send a test event.",
  columns: {
    name: "Name",
    state: "State",
    waiting: "Waiting",
    deadLetters: "Dead letters",
    lastDelivery: "Last delivery",
    owner: "Owner",
  },
  never: "Never",
  noOwner: "Deleted user",
  number: count,

  states: { active: "Active", paused: "Paused", failing: "Failing", stopped: "Stopped" },
  nextAttempt: "Next attempt {when}.",
  nextAttemptSoon: "The next attempt follows soon.",

  back: "All webhooks",
  missing: "This webhook does not exist.",
  refresh: "Refresh",
  test: "Send a test event",
  testAccepted: (milliseconds: number) =>
    `The receiver accepted the test event after ${count(milliseconds)} ms.`,
  testFailed: (reason: string) => `The test event was not accepted: ${reason}`,
  pause: "Pause",
  pauseLabel: (name: string) => `Pause ${name}`,
  paused: (name: string) => `${name} is paused. Changes wait until you resume it.`,
  resume: "Resume",
  resumeLabel: (name: string) => `Resume ${name}`,
  resumed: (name: string) => `${name} sends events again.`,
  edit: "Edit",
  editLabel: (name: string) => `Edit ${name}`,
  saved: (name: string) => `${name} is saved.`,
  remove: "Delete…",
  removeLabel: (name: string) => `Delete ${name}`,
  removeBody: (deadLetters: number) =>
    deadLetters === 0
      ? "The receiver gets no more events, also none that wait. This can't be undone."
      : `The receiver gets no more events, also none that wait. ${plural(deadLetters, {
          one: "# dead letter is deleted, too.",
          other: "# dead letters are deleted, too.",
        })} This can't be undone.`,
  becomesOwner: "You become the owner: from then on, it sends what you may see.",
  isOwner: "You are its owner now, so it sends what you may see.",

  facts: {
    state: "State",
    url: "Address",
    topic: "Sends",
    format: "Format",
    owner: "Owner",
    created: "Created",
    accepted: "Last delivery",
    failed: "Last failure",
    waiting: "Waiting",
  },
  waiting: (pending: number) =>
    pending === 0 ? "Nothing" : plural(pending, { one: "# change", other: "# changes" }),
  behind: (behind: number) =>
    plural(behind, {
      one: "# change of the log is not examined yet.",
      other: "# changes of the log are not examined yet.",
    }),
  topics: {
    METADATA_CHANGE_LOG: "Each change of an aspect",
    PLATFORM_EVENTS: "Entity change events: what a change means to users",
  },
  formats: { CLOUDEVENTS: "CloudEvents", DATAHUB: "Messages of DataHub's topics" },

  filters: {
    heading: "Filters",
    none: "It sends all changes that its owner may see.",
    names: {
      entityTypes: "Entity types",
      aspects: "Aspects",
      domains: "Domains",
      tags: "Tags",
      actors: "Users",
    },
  },

  form: {
    createTitle: "New webhook",
    editTitle: (name: string) => `Edit ${name}`,
    createButton: "Create",
    save: "Save",
    name: "Name",
    nameMissing: "Enter a name.",
    url: "Address of the receiver",
    urlHint: "Such as https://example.com/events. Events are sent with POST.",
    urlMissing: "Enter the address of the receiver.",
    topic: "Sends",
    format: "Format",
    filters: "Filters",
    filtersHint:
      "A change must meet every filter that has values, with one of them. Without filters, all changes are sent.",
    hints: {
      entityTypes: "Such as dataset.",
      aspects: "Such as globalTags.",
      domains: "With their subdomains.",
      tags: "Tags of the changed entity.",
      actors: "Who makes the change.",
    },
    add: "Add",
    addTo: (filter: string) => `Add to ${filter}`,
    addEntity: { domains: "Add domain", tags: "Add tag", actors: "Add user" },
    picker: {
      filter: "Search",
      list: "Matches",
      chosen: "Selected",
      noMatch: (query: string) => `No matches for “${query}”`,
    },
  },

  secret: {
    createdTitle: (name: string) => `Secret of ${name}`,
    shownOnce: "Copy the secret now. You won't be able to see it again.",
    use: "Every event is signed with it, as Standard Webhooks describe. The receiver needs it to check that events come from this server.",
    copy: "Copy secret",
    done: "Done",
    replace: "New secret…",
    replaceLabel: (name: string) => `New secret for ${name}`,
    replaceTitle: (name: string) => `New secret for ${name}?`,
    replaceBody:
      "Events are signed with the new secret immediately. Until the receiver has it, it rejects them; they are sent again later.",
    replaceButton: "Replace secret",
  },

  deadLetters: {
    heading: "Dead letters",
    hint: "Events that the receiver has not accepted for so long that the webhook gave up. They stay until you replay or discard them.",
    none: "No dead letters.",
    columns: { event: "Event", reason: "Reason", attempts: "Attempts", died: "Given up" },
    hidden: "Hidden, because the owner may see more than you.",
    show: "Show",
    showLabel: (event: string) => `Show the event: ${event}`,
    showTitle: "Event",
    id: "Id of the message",
    firstFailed: "Failed first",
    replay: "Replay",
    replayLabel: (event: string) => `Replay the event: ${event}`,
    replayAll: "Replay all",
    replayed: (delivered: number) =>
      plural(delivered, { one: "# event is delivered.", other: "# events are delivered." }),
    /** The receiver rejected one, so the others were not sent. */
    replayFailed: (delivered: number, reason: string) =>
      delivered === 0
        ? `The receiver did not accept the event: ${reason}`
        : `${plural(delivered, {
            one: "# event is delivered",
            other: "# events are delivered",
          })}, the next one was not accepted: ${reason}`,
    discard: "Discard…",
    discardLabel: (event: string) => `Discard the event: ${event}`,
    discardAll: "Discard all…",
    discardTitle: "Discard the event?",
    discardAllTitle: (total: number) =>
      plural(total, { one: "Discard # dead letter?", other: "Discard # dead letters?" }),
    discardBody: "The receiver never gets it. This can't be undone.",
    discardAllBody: "The receiver never gets them. This can't be undone.",
    discardButton: "Discard",
    discarded: (number: number) =>
      plural(number, { one: "# event is discarded.", other: "# events are discarded." }),
  },
};
