import { Suspense, lazy } from "react";

import { loadChunk } from "../components/chunks.ts";
import { Skeleton } from "../components/states.tsx";

const Timeline = lazy(() => loadChunk(import("./timeline.tsx")));

/** The history tab of an entity's page, loaded when it is opened. */
export function EntityHistory({ urn }: { readonly urn: string }) {
  return (
    <Suspense fallback={<Skeleton />}>
      <Timeline urn={urn} />
    </Suspense>
  );
}
