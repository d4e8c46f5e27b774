// How a change in the timeline is reverted: what to send, and whether the user may.

import { run } from "../api/client.ts";
import {
  AddLinkDocument,
  AddOwnerDocument,
  MoveDomainDocument,
  MoveGlossaryEntryDocument,
  RemoveLinkDocument,
  RemoveOwnerDocument,
  RemoveStructuredPropertyDocument,
  RenameDocument,
  SetDomainDocument,
  SetStructuredPropertyDocument,
  SetTagDocument,
  SetTermDocument,
  UnsetDomainDocument,
  UpdateDeprecationDocument,
  type RestorePrivilegesFragment,
} from "../generated/operations.ts";
import { canChange } from "../privileges.ts";
import {
  formerOf,
  isImported,
  propertyValuesOf,
  textsOf,
  type Moment,
  type TimelineEvent,
} from "./events.ts";

export type Privileges = RestorePrivilegesFragment | null | undefined;

/** The history in which a change is reverted. */
export interface History {
  readonly urn: string;
  readonly moments: readonly Moment[];
  readonly privileges: Privileges;
  /** Whether an entity exists and can be seen. */
  readonly exists: (urn: string) => boolean;
}

type Revert = (() => Promise<unknown>) | undefined;

const atColumn = (column: string | undefined) =>
  column === undefined ? {} : { subResource: column, subResourceType: "DATASET_FIELD" as const };

/** Sends the opposite of a change; `undefined` if there is none, or the user may not. Texts are
 *  restored in a dialog instead, because users want to see the difference first. */
export function revertOf(event: TimelineEvent, moment: Moment, history: History): Revert {
  const { urn, privileges, exists } = history;
  const { modifier, column, parameters } = event;
  if (event.kind === "NAME") return renamingOf(event, history);
  // An earlier domain can be assigned again; anything else is reverted by its latest change.
  if (event.kind === "DOMAIN" && event.isAdded && !event.isLatest)
    return modifier !== undefined && exists(modifier) && canChange(privileges, "canEditDomains")
      ? () => run(SetDomainDocument, { urn, domain: modifier })
      : undefined;
  if (!event.isLatest || isImported(event.aspect)) return undefined;
  switch (event.kind) {
    case "TAG":
    case "TERM": {
      if (modifier === undefined || !(event.isAdded || event.isRemoved)) return undefined;
      if (event.aspect === "glossaryRelatedTerms") return undefined;
      const isTag = event.kind === "TAG";
      const name =
        column === undefined
          ? isTag
            ? "canEditTags"
            : "canEditGlossaryTerms"
          : isTag
            ? "canEditSchemaFieldTags"
            : "canEditSchemaFieldGlossaryTerms";
      if (!canChange(privileges, name)) return undefined;
      const target = { resourceUrn: urn, ...atColumn(column) };
      const isRemoved = event.isAdded;
      return isTag
        ? () => run(SetTagDocument, { input: { ...target, tagUrn: modifier }, isRemoved })
        : () => run(SetTermDocument, { input: { ...target, termUrn: modifier }, isRemoved });
    }
    case "OWNER": {
      const ownershipType = parameters.get("ownerTypeUrn");
      if (modifier === undefined || !canChange(privileges, "canEditOwners")) return undefined;
      if (event.isAdded)
        return () =>
          run(RemoveOwnerDocument, { urn, owner: modifier, ownershipType: ownershipType ?? null });
      if (ownershipType === undefined) return undefined;
      const ownerType = modifier.startsWith("urn:li:corpGroup:") ? "CORP_GROUP" : "CORP_USER";
      return () => run(AddOwnerDocument, { urn, owner: modifier, ownerType, ownershipType });
    }
    case "DOMAIN": {
      if (modifier === undefined || !canChange(privileges, "canEditDomains")) return undefined;
      if (event.isRemoved) {
        // The domain that replaced it offers the way back.
        const isReplaced = moment.events.some((it) => it.kind === "DOMAIN" && it.isAdded);
        return isReplaced || !exists(modifier)
          ? undefined
          : () => run(SetDomainDocument, { urn, domain: modifier });
      }
      const former = moment.events.find((it) => it.kind === "DOMAIN" && it.isRemoved)?.modifier;
      return former === undefined || !exists(former)
        ? () => run(UnsetDomainDocument, { urn })
        : () => run(SetDomainDocument, { urn, domain: former });
    }
    case "LINK": {
      const label = parameters.get("description");
      if (modifier === undefined || label === undefined) return undefined;
      if (!canChange(privileges, "canEditLinks")) return undefined;
      if (event.isAdded) return () => run(RemoveLinkDocument, { urn, url: modifier, label });
      return event.isRemoved
        ? () => run(AddLinkDocument, { urn, url: modifier, label })
        : undefined;
    }
    case "PROPERTY":
      return propertyRevertOf(event, history);
    case "PARENT":
      return moveOf(event, moment, history);
    case "DEPRECATION": {
      if (privileges?.canEditDeprecation !== true) return undefined;
      const time = Number(parameters.get("previousDecommissionTime") ?? 0);
      return () =>
        run(UpdateDeprecationDocument, {
          input: {
            urn,
            deprecated: !event.isAdded,
            note: event.isAdded ? null : (parameters.get("previousNote") ?? null),
            decommissionTime: event.isAdded || time === 0 ? null : time,
            replacement: event.isAdded ? null : (parameters.get("previousReplacement") ?? null),
          },
        });
    }
    default:
      return undefined;
  }
}

/** Names that users set. The others come from ingestion, or cannot be changed over the API. */
const NAMED: ReadonlySet<string> = new Set([
  "editableDatasetProperties",
  "domainProperties",
  "dataProductProperties",
  "glossaryTermInfo",
  "glossaryNodeInfo",
]);

/** The name before the latest change, or that of an earlier change. */
function renamingOf(event: TimelineEvent, { urn, privileges }: History): Revert {
  const names = textsOf(event);
  const name = event.isLatest ? names?.before : names?.after;
  // A name cannot be removed.
  if (name === undefined || name === "" || !NAMED.has(event.aspect)) return undefined;
  const mayRename =
    event.aspect === "editableDatasetProperties"
      ? canChange(privileges, "canManageEntity")
      : privileges?.canManageEntity === true;
  return mayRename ? () => run(RenameDocument, { urn, name }) : undefined;
}

/** The values before, or the removal of a property that was added. */
function propertyRevertOf(event: TimelineEvent, history: History): Revert {
  const { urn, privileges, exists, moments } = history;
  const property = event.modifier;
  if (property === undefined || privileges?.canEditProperties !== true) return undefined;
  if (event.isAdded) return () => run(RemoveStructuredPropertyDocument, { urn, property });
  // A removal tells the removed values; for those before a change, see the change before it.
  const source = event.isRemoved ? event : formerOf(moments, event);
  if (source === undefined || !exists(property)) return undefined;
  const values = propertyValuesOf(source).map((value) =>
    typeof value === "number" ? { numberValue: value } : { stringValue: String(value) },
  );
  if (values.length === 0) return undefined;
  const params = [{ structuredPropertyUrn: property, values }];
  return () =>
    run(SetStructuredPropertyDocument, {
      input: { assetUrn: urn, structuredPropertyInputParams: params },
    });
}

/** The way back to the parent before, or to the top level. */
function moveOf(event: TimelineEvent, moment: Moment, history: History): Revert {
  const { urn, privileges, exists } = history;
  if (privileges?.canManageEntity !== true) return undefined;
  // An entity that was created there has not been anywhere else.
  if (moment.events.some(({ kind, isAdded }) => kind === "NAME" && isAdded)) return undefined;
  const parent = event.parameters.get(event.isRemoved ? "newParent" : "oldParent") || null;
  if (parent !== null && !exists(parent)) return undefined;
  switch (event.aspect) {
    case "domainProperties":
      return () => run(MoveDomainDocument, { urn, parent });
    case "glossaryTermInfo":
    case "glossaryNodeInfo":
      return () => run(MoveGlossaryEntryDocument, { urn, parent });
    default:
      return undefined;
  }
}

/** Whether the user may restore the text of an event, which a later one replaced. */
export function mayRestoreText(event: TimelineEvent, privileges: Privileges): boolean {
  if (event.isLatest) return false;
  if (event.kind === "DESCRIPTION") return canChange(privileges, "canEditDescription");
  return (
    event.kind === "COLUMN_DESCRIPTION" && canChange(privileges, "canEditSchemaFieldDescription")
  );
}
