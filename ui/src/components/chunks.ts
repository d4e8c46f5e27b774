// Code that is loaded on demand. Loading fails if the server was updated and now serves other
// files, or is unreachable.

export class ChunkLoadError extends Error {
  /** Whether the server responds. If so, it has been updated and no longer serves this chunk. */
  readonly isServerUp: boolean;

  constructor(isServerUp: boolean) {
    super("part of the page could not be loaded");
    this.name = "ChunkLoadError";
    this.isServerUp = isServerUp;
  }
}

/** Wraps a dynamic import so that a failure says whether the server is reachable. */
export async function loadChunk<Module>(chunk: Promise<Module>): Promise<Module> {
  try {
    return await chunk;
  } catch {
    throw new ChunkLoadError(await isReachable());
  }
}

async function isReachable(): Promise<boolean> {
  try {
    return (await fetch("/health/live", { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}
