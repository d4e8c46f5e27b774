// Helpers for tests that edit descriptions.

import type { Dialog, Page, Request } from "@playwright/test";

import { expect } from "./fixtures.ts";

export const CONFIRMATION = "Discard unsaved changes?";

export const editorOf = (page: Page) =>
  page.getByRole("textbox", { name: "Description (Markdown)" });
export const editButton = (page: Page) =>
  page.getByRole("button", { name: "Edit description", exact: true });
export const column = (page: Page, name: string) =>
  page.getByRole("textbox", { name: `Description for column ${name}`, exact: true });
export const row = (page: Page, name: string) =>
  page.getByRole("row", { name: new RegExp(`^${name}`) });

/** The text in the description editor, which may be CodeMirror or a plain text area. */
export const typedText = (page: Page) =>
  editorOf(page).evaluate((field) =>
    field instanceof HTMLTextAreaElement ? field.value : field.textContent,
  );

export async function editDescription(page: Page, text: string): Promise<void> {
  await editButton(page).click();
  await expect(editorOf(page)).toBeFocused();
  await page.keyboard.press("Control+a");
  await page.keyboard.type(text);
}

export async function editColumn(page: Page, name: string, text: string): Promise<void> {
  await row(page, name).hover();
  await page.getByRole("button", { name: new RegExp(`description for column ${name}$`) }).click();
  await expect(column(page, name)).toBeFocused();
  await page.keyboard.press("Control+a");
  await page.keyboard.type(text);
}

/** Answers the confirmation dialogs in turn and records their messages. */
export function answerConfirmations(
  page: Page,
  ...answers: readonly ("stay" | "leave")[]
): string[] {
  const confirmations: string[] = [];
  const question = page.getByRole("alertdialog");
  const answerAll = async () => {
    for (const answer of answers) {
      await question.waitFor({ timeout: 0 });
      const text = await question.getByRole("heading").innerText();
      const button = answer === "leave" ? "Discard" : "Keep editing";
      await question.getByRole("button", { name: button }).click();
      await question.waitFor({ state: "hidden" });
      confirmations.push(text);
    }
  };
  // The browser asks the same when the page is closed or reloaded.
  page.on("dialog", (dialog: Dialog) => void dialog.accept());
  // Fails when the page is closed before all questions were asked, which the test then notices.
  answerAll().catch(() => undefined);
  return confirmations;
}

export const isOperation = (request: Request, name: string) =>
  request.url().endsWith("/api/graphql") && (request.postData() ?? "").includes(`${name}(`);

/** Returns to the window, which refreshes stale data, and waits for a query. Saving anything makes
 *  all data stale. */
export async function returnToWindow(page: Page, operation: string): Promise<void> {
  const read = page.waitForResponse((response) => isOperation(response.request(), operation));
  await page.evaluate(() => window.dispatchEvent(new Event("visibilitychange")));
  await read;
}
