import { GraphiQL } from "graphiql";
import "graphiql/style.css";

import { useTitle } from "../components/states.tsx";
import { texts } from "../texts.ts";

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

const DEFAULT_QUERY = `# ${texts.explorer.hint}
{
  searchAcrossEntities(input: { query: "*", types: [DATASET], count: 3 }) {
    total
    searchResults {
      entity {
        urn
        ... on Dataset {
          name
          properties { description }
        }
      }
    }
  }
}
`;

/** GraphiQL, in a chunk of its own that is loaded on demand. */
export default function ExplorerPage() {
  useTitle(texts.explorer.title);
  return (
    <div className="explorer">
      <h1 className="visually-hidden">{texts.explorer.title}</h1>
      <GraphiQL fetcher={fetcher as never} defaultQuery={DEFAULT_QUERY} />
    </div>
  );
}
