// A receiver of webhooks for the browser tests.

import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { expect } from "@playwright/test";

import { test as base } from "./fixtures.ts";

const ACCEPTED = 204;

/** An event as it arrived, whether it was accepted or not. */
export interface Message {
  readonly id: string;
  readonly timestamp: string;
  readonly signatures: readonly string[];
  readonly body: string;
  readonly isAccepted: boolean;
}

export class Receiver {
  readonly messages: Message[] = [];
  /** With which status it responds. */
  status = ACCEPTED;
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const header = (name: string) => String(request.headers[name] ?? "");
      this.messages.push({
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        signatures: header("webhook-signature").split(" "),
        body: Buffer.concat(chunks).toString(),
        isAccepted: this.status === ACCEPTED,
      });
      response.writeHead(this.status).end();
    });
  });

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/events`;
  }

  fail(): void {
    this.status = 500;
  }

  recover(): void {
    this.status = ACCEPTED;
  }

  /** The accepted events of a type. */
  accepted(type: string): readonly Message[] {
    const isOfType = ({ body }: Message) => (JSON.parse(body) as { type: string }).type === type;
    return this.messages.filter((message) => message.isAccepted && isOfType(message));
  }

  /** Waits until so many changes of aspects were accepted, and returns the last one. */
  async change(count: number): Promise<Message> {
    const changes = () => this.accepted("docent.aspect.changed");
    await expect.poll(() => changes().length, { timeout: 90_000 }).toBe(count);
    return changes()[count - 1]!;
  }
}

/** Whether a message is signed with a secret, as Standard Webhooks describe. */
export function isSigned(message: Message, secret: string): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signed = `${message.id}.${message.timestamp}.${message.body}`;
  const expected = createHmac("sha256", key).update(signed).digest("base64");
  return message.signatures.includes(`v1,${expected}`);
}

/** Tests with a receiver of their own. */
export const test = base.extend<{ readonly receiver: Receiver }>({
  receiver: async ({}, use) => {
    const receiver = new Receiver();
    await receiver.start();
    await use(receiver);
    await receiver.stop();
  },
});
