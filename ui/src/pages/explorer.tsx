import { GraphiQL } from "graphiql";
import "graphiql/style.css";

import { useTitle } from "../components/states.tsx";
import { texts } from "../texts.ts";

/** Sends what GraphiQL asks, as the person who is signed in. */
async function fetcher(parameters: { readonly query: string }): Promise<unknown> {
  const response = await fetch("/api/graphql", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    credentials: "same-origin",
    body: JSON.stringify(parameters),
  });
  return response.json() as Promise<unknown>;
}

const QUESTION = `# ${texts.explorer.hint}
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

/** GraphiQL, loaded only here. */
export default function ExplorerPage() {
  useTitle(texts.explorer.title);
  return (
    <div className="explorer">
      <h1 className="hidden">{texts.explorer.title}</h1>
      <GraphiQL fetcher={fetcher as never} defaultQuery={QUESTION} />
    </div>
  );
}
