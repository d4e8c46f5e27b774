import { texts } from "../texts.ts";
import type { Operation } from "./operation.ts";
import { noteSession } from "./session.ts";

/** What the server, or the way to it, said no with. `code` is that of the API: 404, 409 and so on; 0 without an answer. */
export class Failure extends Error {
  readonly code: number;

  constructor(message: string, code: number) {
    super(message);
    this.name = "Failure";
    this.code = code;
  }
}

/** Whether what was asked for is not there, or cannot be there under such a name. */
export function isMissing(error: Error): boolean {
  return error instanceof Failure && (error.code === 404 || error.code === 400);
}

/** What the server answers to whom it does not know. */
const STRANGER = 401;

export function isStranger(error: unknown): boolean {
  return error instanceof Failure && error.code === STRANGER;
}

interface Reply {
  readonly data?: unknown;
  readonly message?: string;
  readonly errors?: ReadonlyArray<{ readonly message: string; readonly extensions?: { readonly code?: number } }>;
}

/** A browser lets so many bytes outlive a page, and refuses more. */
const MOST_KEPT_ALIVE = 60_000;
const MOST_BYTES_OF_A_LETTER = 3;

async function post(path: string, content: unknown, signal?: AbortSignal): Promise<Response> {
  const body = JSON.stringify(content);
  try {
    return await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      credentials: "same-origin",
      body,
      // What is asked for ends with the page; what is written arrives, even if somebody closes the window meanwhile.
      ...(signal === undefined ? { keepalive: body.length * MOST_BYTES_OF_A_LETTER <= MOST_KEPT_ALIVE } : { signal }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Failure(texts.errors.offline, 0);
  }
}

async function replyOf(response: Response): Promise<Reply> {
  try {
    return (await response.json()) as Reply;
  } catch {
    return {};
  }
}

/** Runs an operation as the person who is signed in. */
export async function run<Result, Variables>(
  operation: Operation<Result, Variables>,
  variables: Variables,
  signal?: AbortSignal,
): Promise<Result> {
  const response = await post("/api/graphql", { query: operation.text, variables }, signal);
  const reply = await replyOf(response);
  const error = reply.errors?.[0];
  if (response.ok && error === undefined) return reply.data as Result;
  const code = response.ok ? (error?.extensions?.code ?? 500) : response.status;
  if (code === STRANGER) {
    // What the server says is meant for programs; a person is shown the way in.
    noteSession(true);
    throw new Failure(texts.errors.sessionEnded, code);
  }
  throw new Failure(reply.message ?? error?.message ?? texts.errors.unexpected(response.status), code);
}

export async function signIn(username: string, password: string): Promise<void> {
  const response = await post("/logIn", { username, password });
  if (!response.ok) {
    const reply = await replyOf(response);
    throw new Failure(reply.message ?? texts.errors.unexpected(response.status), response.status);
  }
}

export async function signOut(): Promise<void> {
  const response = await post("/logOut", {});
  if (!response.ok) throw new Failure(texts.errors.unexpected(response.status), response.status);
}
