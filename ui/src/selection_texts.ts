// Texts of lists whose entities can be selected. Search, which is in the first load, shows them.

import { count, plural } from "./text_forms.ts";

const itemsOf = (number: number) => plural(number, { one: "# item", other: "# items" });

export const selectionTexts = {
  exportAll: (number: number) => `Export all ${count(number)}…`,
  exportFirst: (number: number, total: number) =>
    `Export the first ${count(number)} of ${count(total)}…`,
  importLink: "Import CSV",

  select: (name: string) => `Select ${name}`,
  selectPage: "Select this page",
  selectAll: (number: number) => `Select all ${count(number)}`,
  selectFirst: (number: number, total: number) =>
    `Select the first ${count(number)} of ${count(total)}`,
  selectLimit: (number: number) => `A selection has at most ${itemsOf(number)}.`,
  selecting: (done: number, total: number) => `${count(done)} of ${count(total)} read…`,
  selected: (number: number) => `${count(number)} selected`,
  cancel: "Cancel",
};
