// Finds the entities that the cells of a file name: URNs must exist and have the right type, and
// names must be unique.

import { run } from "../api/client.ts";
import {
  OwnershipTypesDocument,
  ReferencedEntitiesDocument,
  type EntityType,
} from "../generated/operations.ts";
import { entitiesNamed } from "../entity/by_name.ts";
import { nameOf } from "../names.ts";
import { csvTexts } from "../csv_texts.ts";
import type { Reference } from "./csv_cells.ts";
import { READ_SIZE } from "./entity_state.ts";
import { readPages } from "./read_pages.ts";

/** What a reference refers to, and the types that it may have. */
export type ReferenceKind = "domain" | "tags" | "terms" | "owners" | "ownershipType";

const TYPES: Readonly<Record<ReferenceKind, readonly EntityType[]>> = {
  domain: ["DOMAIN"],
  tags: ["TAG"],
  terms: ["GLOSSARY_TERM"],
  owners: ["CORP_USER", "CORP_GROUP"],
  ownershipType: [],
};
const PREFIXES: Readonly<Record<ReferenceKind, readonly string[]>> = {
  domain: ["urn:li:domain:"],
  tags: ["urn:li:tag:"],
  terms: ["urn:li:glossaryTerm:"],
  owners: ["urn:li:corpuser:", "urn:li:corpGroup:"],
  ownershipType: ["urn:li:ownershipType:"],
};
/** A reference that is not valid; the message is for the user. */
export class ReferenceError extends Error {}

/** Resolves references after `load` has read them. */
export class References {
  /** Names by URN, of everything that exists. */
  readonly names: Map<string, string>;
  readonly #urnsByName = new Map<string, readonly string[]>();

  constructor(names: ReadonlyMap<string, string>) {
    this.names = new Map(names);
  }

  /** Reads what the references refer to. `names` are the known ones, which exist. */
  async load(
    references: readonly (readonly [ReferenceKind, Reference])[],
    signal: AbortSignal,
  ): Promise<void> {
    await this.#loadOwnershipTypes(signal);
    const urns = new Set<string>();
    for (const [kind, reference] of references) {
      if ("urn" in reference && kind !== "ownershipType" && !this.names.has(reference.urn))
        urns.add(reference.urn);
    }
    const read = async (page: readonly string[]) => {
      const reply = await run(ReferencedEntitiesDocument, { urns: page }, signal);
      for (const entity of reply.entities ?? []) {
        if (entity !== null) this.names.set(entity.urn, nameOf(entity));
      }
    };
    // A rejected URN has no name, so it resolves to an error.
    await readPages([...urns], READ_SIZE, read);
    for (const [kind, reference] of references) {
      if ("name" in reference && TYPES[kind].length > 0)
        await this.#loadName(kind, reference.name, signal);
    }
  }

  async #loadOwnershipTypes(signal: AbortSignal): Promise<void> {
    const { listOwnershipTypes } = await run(OwnershipTypesDocument, {}, signal);
    for (const { urn, info } of listOwnershipTypes.ownershipTypes) {
      const name = info?.name ?? urn;
      this.names.set(urn, name);
      const key = keyOf("ownershipType", name);
      this.#urnsByName.set(key, [...(this.#urnsByName.get(key) ?? []), urn]);
    }
  }

  async #loadName(kind: ReferenceKind, name: string, signal: AbortSignal): Promise<void> {
    const key = keyOf(kind, name);
    if (this.#urnsByName.has(key)) return;
    const exact = await entitiesNamed(TYPES[kind], name, signal);
    for (const entity of exact) this.names.set(entity.urn, nameOf(entity));
    this.#urnsByName.set(
      key,
      exact.map(({ urn }) => urn),
    );
  }

  /** The URN of a reference. Throws if there is none, or more than one. */
  resolve(kind: ReferenceKind, label: string, reference: Reference): string {
    const problems = csvTexts.problems;
    if ("urn" in reference) {
      const { urn } = reference;
      if (!PREFIXES[kind].some((prefix) => urn.startsWith(prefix)))
        throw new ReferenceError(problems.wrongType(label, urn));
      if (!this.names.has(urn)) throw new ReferenceError(problems.unknown(label, urn));
      return urn;
    }
    const urns = this.#urnsByName.get(keyOf(kind, reference.name)) ?? [];
    const [urn] = urns;
    if (urn === undefined) throw new ReferenceError(problems.unknown(label, reference.name));
    if (urns.length > 1)
      throw new ReferenceError(problems.ambiguous(label, reference.name, urns.length));
    return urn;
  }
}

const keyOf = (kind: ReferenceKind, name: string) => `${kind} ${name.toLocaleLowerCase()}`;
