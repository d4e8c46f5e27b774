import { texts } from "../texts.ts";
import type { Operation } from "./operation.ts";
import { setProposed } from "./proposed.ts";
import { setSessionExpired } from "./session.ts";

/** A failed request. `code` is the API's error code (404, 409, …), or 0 if the server could not be
 *  reached. */
export class ApiError extends Error {
  readonly code: number;

  constructor(message: string, code: number) {
    super(message);
    this.name = "ApiError";
    this.code = code;
  }
}

/** Whether the requested entity does not exist, or its name is not valid. */
export function isNotFound(error: Error): boolean {
  return error instanceof ApiError && (error.code === 404 || error.code === 400);
}

const TIMED_OUT = 408;
const TOO_MANY = 429;

/** Whether the same request may succeed later. One that is not valid, or not allowed, fails again. */
export function mayPass(error: Error): boolean {
  if (!(error instanceof ApiError)) return true;
  const isRejected = error.code >= 400 && error.code < 500;
  return !isRejected || [UNAUTHORIZED, TIMED_OUT, TOO_MANY].includes(error.code);
}

/** A change of an entity that was deleted since it was shown. */
const GONE = 410;
const MISSING_TARGET =
  /^Failed to update (?:resource with urn )?(\S+)\. (?:\1|Entity) does not exist\.$/;

const UNAUTHORIZED = 401;
const FORBIDDEN = 403;

export function isUnauthenticated(error: unknown): boolean {
  return error instanceof ApiError && error.code === UNAUTHORIZED;
}

interface Reply {
  readonly data?: unknown;
  readonly message?: string;
  readonly extensions?: { readonly proposals?: readonly string[] };
  readonly errors?: ReadonlyArray<{
    readonly message: string;
    readonly extensions?: { readonly code?: number };
  }>;
}

/** Browsers reject `keepalive` requests with larger bodies (the limit is 64 KiB). */
const MAX_KEEPALIVE_BYTES = 60_000;
const MAX_BYTES_PER_CODE_UNIT = 3;

async function post(path: string, content: unknown, signal?: AbortSignal): Promise<Response> {
  const body = JSON.stringify(content);
  try {
    return await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      credentials: "same-origin",
      body,
      // Queries end with the page; writes must arrive even if the window is closed.
      ...(signal === undefined
        ? { keepalive: body.length * MAX_BYTES_PER_CODE_UNIT <= MAX_KEEPALIVE_BYTES }
        : { signal }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(texts.errors.offline, 0);
  }
}

async function parseReply(response: Response): Promise<Reply> {
  try {
    return (await response.json()) as Reply;
  } catch {
    return {};
  }
}

/** Runs an operation as the current user. */
export async function run<Result, Variables>(
  operation: Operation<Result, Variables>,
  variables: Variables,
  signal?: AbortSignal,
): Promise<Result> {
  return (await send(operation, variables, signal)).data;
}

/** Runs a mutation, and returns whether it became a proposal: then nothing has changed yet. */
export async function runOrPropose<Result, Variables>(
  operation: Operation<Result, Variables>,
  variables: Variables,
): Promise<boolean> {
  return (await send(operation, variables)).isProposed;
}

async function send<Result, Variables>(
  operation: Operation<Result, Variables>,
  variables: Variables,
  signal?: AbortSignal,
): Promise<{ readonly data: Result; readonly isProposed: boolean }> {
  const response = await post("/api/graphql", { query: operation.text, variables }, signal);
  const reply = await parseReply(response);
  const error = reply.errors?.[0];
  const isProposed = (reply.extensions?.proposals?.length ?? 0) > 0;
  if (isProposed) setProposed(true);
  if (response.ok && error === undefined) return { data: reply.data as Result, isProposed };
  const code = response.ok ? (error?.extensions?.code ?? 500) : response.status;
  if (code === UNAUTHORIZED) {
    // The server's message addresses programs; users get the sign-in dialog.
    setSessionExpired(true);
    throw new ApiError(texts.errors.sessionExpired, code);
  }
  const message = reply.message ?? error?.message ?? texts.errors.unexpected(response.status);
  // The server's message has the URN twice, and does not say what to do.
  if (MISSING_TARGET.test(message)) throw new ApiError(texts.errors.deletedMeanwhile, GONE);
  throw new ApiError(message, code);
}

export const signIn = (username: string, password: string) =>
  beginSession("/logIn", { username, password });

export const signUp = (account: {
  readonly fullName: string;
  readonly email: string;
  readonly password: string;
  readonly inviteToken: string;
}) => beginSession("/signUp", account);

/** What the server says against an invite link; null if it is valid or cannot be checked now. */
export async function inviteProblem(inviteToken: string): Promise<string | null> {
  const response = await post("/signUp/check", { inviteToken });
  if (response.status !== FORBIDDEN) return null;
  return (await parseReply(response)).message ?? null;
}

export const resetPassword = (reset: {
  readonly email: string;
  readonly password: string;
  readonly resetToken: string;
}) => beginSession("/resetNativeUserCredentials", reset);

export const changePassword = (change: {
  readonly currentPassword: string;
  readonly newPassword: string;
}) => beginSession("/changePassword", change);

/** Sends a password; the reply sets the cookies of a new session. */
async function beginSession(path: string, content: unknown): Promise<void> {
  const response = await post(path, content);
  if (!response.ok) {
    const reply = await parseReply(response);
    throw new ApiError(reply.message ?? texts.errors.unexpected(response.status), response.status);
  }
}

/** Ends the session. Returns the page where the identity provider ends its own, if there is one. */
export async function signOut(): Promise<string | null> {
  const response = await post("/logOut", {});
  if (!response.ok) throw new ApiError(texts.errors.unexpected(response.status), response.status);
  const { redirect } = (await response.json()) as { readonly redirect?: string };
  return redirect ?? null;
}

export interface IdentityProvider {
  readonly id: string;
  readonly name: string;
}

export async function identityProviders(): Promise<readonly IdentityProvider[]> {
  const response = await fetch("/sso");
  const { providers } = (await response.json()) as {
    readonly providers: readonly IdentityProvider[];
  };
  return providers;
}
