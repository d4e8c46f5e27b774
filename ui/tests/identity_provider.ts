// A real OpenID Connect provider on this machine, for the tests of sign-in. Anybody can sign in
// there, with any password.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import Provider, { type Configuration } from "oidc-provider";

export const CLIENT_SECRET = "a-secret-of-the-tests";
/** A client that is a program: its tokens authenticate it at the catalog. */
export const PIPELINE = { id: "pipeline", secret: "another-secret-of-the-tests" };
export const AUDIENCE = "docent-api";
const RESOURCE = "urn:docent:api";

export interface IdentityProvider {
  readonly issuer: string;
  /** A bearer token of the client [PIPELINE]. */
  token(): Promise<string>;
  stop(): Promise<void>;
}

/** A port that nothing listens on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Starts a provider whose client is the catalog at an address. */
export async function startProvider(docent: string): Promise<IdentityProvider> {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const provider = new Provider(issuer, configuration(docent));
  // The pages of the provider for development load no other hosts.
  provider.use(async (context, next) => {
    await next();
    context.set("Cache-Control", "no-store");
  });
  const server: Server = createServer(provider.callback());
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    issuer,
    async token() {
      const basic = Buffer.from(`${PIPELINE.id}:${PIPELINE.secret}`).toString("base64");
      const reply = await fetch(`${issuer}/token`, {
        method: "POST",
        headers: { Authorization: `Basic ${basic}` },
        body: new URLSearchParams({ grant_type: "client_credentials", resource: RESOURCE }),
      });
      const { access_token: token } = (await reply.json()) as { access_token: string };
      return token;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function configuration(docent: string): Configuration {
  return {
    clients: [
      {
        client_id: "docent",
        client_secret: CLIENT_SECRET,
        redirect_uris: [`${docent}/callback/oidc`],
        post_logout_redirect_uris: [`${docent}/`],
      },
      {
        client_id: PIPELINE.id,
        client_secret: PIPELINE.secret,
        redirect_uris: [],
        response_types: [],
        grant_types: ["client_credentials"],
      },
    ],
    // The claims come from the user info endpoint, as with most providers.
    claims: {
      openid: ["sub"],
      profile: ["preferred_username", "name"],
      email: ["email", "email_verified"],
      groups: ["groups"],
    },
    scopes: ["openid", "profile", "email", "groups"],
    pkce: { required: () => true },
    cookies: { keys: ["a key of the tests"] },
    ttl: { Session: 3600, Grant: 3600, Interaction: 3600 },
    features: {
      devInteractions: { enabled: true },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: "",
          audience: AUDIENCE,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "RS256" } },
        }),
      },
    },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({
        sub: id,
        preferred_username: id,
        name: `${id} of the provider`,
        email: `${id}@example.com`,
        email_verified: true,
        groups: ["stewards", `friends of ${id}`],
      }),
    }),
  };
}
