import { GraphiQL } from "graphiql";
import "graphiql/style.css";

import { theme } from "../theme.ts";

/** Sends GraphiQL's requests as the current user. */
async function fetcher(parameters: { readonly query: string }): Promise<unknown> {
  const response = await fetch("/api/graphql", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    credentials: "same-origin",
    body: JSON.stringify(parameters),
  });
  return response.json() as Promise<unknown>;
}

/** GraphiQL with a query, in a chunk of its own that is loaded on demand. */
export default function Explorer({ query }: { readonly query: string }) {
  return <GraphiQL fetcher={fetcher as never} query={query} forcedTheme={theme()} />;
}
