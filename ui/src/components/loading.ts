// Parts of the page that are fetched when they are first opened. That can fail without any defect: the server was updated and
// has other files now, or it cannot be reached.

/** A part of the page that could not be fetched. */
export class NotLoaded extends Error {
  /** Whether the server answers: then it has other files than the page knows of. */
  readonly isAnswered: boolean;

  constructor(isAnswered: boolean) {
    super("a part of the page could not be loaded");
    this.name = "NotLoaded";
    this.isAnswered = isAnswered;
  }
}

/** A part of the page, or the reason why it is not there. */
export async function loaded<Part>(part: Promise<Part>): Promise<Part> {
  try {
    return await part;
  } catch {
    throw new NotLoaded(await answers());
  }
}

async function answers(): Promise<boolean> {
  try {
    return (await fetch("/health/live", { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}
