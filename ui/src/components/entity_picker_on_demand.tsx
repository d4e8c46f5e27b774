import { Suspense, lazy, type ComponentProps } from "react";

import { loadChunk } from "./chunks.ts";
import { Skeleton } from "./states.tsx";

const Picker = lazy(async () => ({
  default: (await loadChunk(import("./entity_picker.tsx"))).EntityPicker,
}));

/** The picker for pages that most people open without picking anything. */
export function EntityPicker(properties: ComponentProps<typeof Picker>) {
  return (
    <Suspense fallback={<Skeleton lines={3} />}>
      <Picker {...properties} />
    </Suspense>
  );
}
