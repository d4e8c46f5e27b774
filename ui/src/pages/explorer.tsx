import { Suspense, lazy, useRef, useState } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery, useMe } from "../api/cache.ts";
import { curlCommand, datasetCalls, searchCall, type Call } from "../api_page/calls.ts";
import { loadChunk } from "../components/chunks.ts";
import { CopyButton } from "../components/common.tsx";
import { FormattedText } from "../components/formatted_text.tsx";
import { Skeleton, useTitle } from "../components/states.tsx";
import { CandidatesDocument } from "../generated/operations.ts";
import { apiPageTexts } from "../api_page_texts.ts";

const Explorer = lazy(() => loadChunk(import("../api_page/graphiql.tsx")));

/** How to call the API: common calls, and an explorer to try them. */
export default function ApiPage() {
  const words = apiPageTexts;
  useTitle(words.title);
  const me = useMe();
  const explorer = useRef<HTMLElement>(null);
  // The number makes GraphiQL start again when the same call is opened again.
  const [opened, setOpened] = useState({ call: searchCall(), number: 0 });
  const read = useApiQuery(CandidatesDocument, {
    types: ["DATASET"],
    query: "*",
    count: 1,
    sort: null,
  });
  const urn = read.data?.searchAcrossEntities?.searchResults[0]?.entity.urn;
  const calls = [searchCall(), ...(urn === undefined ? [] : datasetCalls(urn))];
  const curl = curlCommand(window.location.origin, searchCall());
  const open = (call: Call) => {
    setOpened(({ number }) => ({ call, number: number + 1 }));
    explorer.current?.scrollIntoView({ block: "start" });
  };
  return (
    <div className="api-page">
      <h1>{words.title}</h1>
      <p className="api-intro">
        {words.intro} {words.token}{" "}
        {me.data?.me?.platformPrivileges.generatePersonalAccessTokens === true && (
          <Link href={addresses.settings("tokens")}>{words.createToken}</Link>
        )}
      </p>
      <section className="section" aria-labelledby="api-calls">
        <h2 id="api-calls">{words.calls}</h2>
        <div className="calls">
          {calls.map((call) => (
            <section key={call.title} className="call" aria-label={call.title}>
              <header>
                <h3>{call.title}</h3>
                <CopyButton text={call.query} label={words.copy(call.title)} />
                <button
                  type="button"
                  className="subtle"
                  aria-label={words.openLabel(call.title)}
                  onClick={() => open(call)}
                >
                  {words.open}
                </button>
              </header>
              <pre tabIndex={0}>{call.query}</pre>
            </section>
          ))}
          <section className="call" aria-label={words.curl}>
            <header>
              <h3>{words.curl}</h3>
              <CopyButton text={curl} label={words.copy(words.curl)} />
            </header>
            <pre tabIndex={0}>{curl}</pre>
            <p className="hint">
              <FormattedText text={words.curlHint} values={{ variable: <code>TOKEN</code> }} />
            </p>
          </section>
        </div>
      </section>
      <section ref={explorer} className="explorer-section" aria-labelledby="api-explorer">
        <h2 id="api-explorer">{words.explorer}</h2>
        <p className="hint">{words.explorerHint}</p>
        <div className="explorer">
          <Suspense fallback={<Skeleton lines={6} />}>
            <Explorer key={opened.number} query={opened.call.query} />
          </Suspense>
        </div>
      </section>
    </div>
  );
}
