// The calls that the page of the API begins with. Each runs as it is.

import { apiPageTexts } from "../api_page_texts.ts";

export interface Call {
  readonly title: string;
  readonly query: string;
}

export const searchCall = (): Call => ({
  title: apiPageTexts.search,
  query: `{
  searchAcrossEntities(input: { query: "order", types: [DATASET], count: 3 }) {
    total
    searchResults {
      entity {
        urn
        ... on Dataset { name }
      }
    }
  }
}`,
});

/** Calls for one dataset, which must exist for them to run. */
export const datasetCalls = (urn: string): readonly Call[] => [
  {
    title: apiPageTexts.read,
    query: `{
  dataset(urn: ${JSON.stringify(urn)}) {
    name
    properties { description }
    editableProperties { description }
    schemaMetadata {
      fields { fieldPath nativeDataType description }
    }
  }
}`,
  },
  {
    title: apiPageTexts.update,
    query: `mutation {
  updateDescription(input: {
    resourceUrn: ${JSON.stringify(urn)}
    description: "Describe here what a row of this dataset is."
  })
}`,
  },
];

/** A call as a shell command. Single quotes in the body end the shell's string for a moment. */
export function curlCommand(origin: string, { query }: Call): string {
  const body = JSON.stringify({ query: query.replaceAll(/\s+/g, " ") });
  return `curl -s ${origin}/api/graphql \\
  -H "Authorization: Bearer $TOKEN" \\
  -H "Content-Type: application/json" \\
  -d '${body.replaceAll("'", `'\\''`)}'`;
}
