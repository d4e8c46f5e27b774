// How a change in the timeline is reverted: what to send, and whether the user may.

import { run } from "../api/client.ts";
import {
  AddLinkDocument,
  AddOwnerDocument,
  RemoveLinkDocument,
  RemoveOwnerDocument,
  SetDomainDocument,
  SetTagDocument,
  SetTermDocument,
  UnsetDomainDocument,
  UpdateDeprecationDocument,
  type RestorePrivilegesFragment,
} from "../generated/operations.ts";
import { isImported, type Moment, type TimelineEvent } from "./events.ts";

export type Privileges = RestorePrivilegesFragment | null | undefined;

/** Whether the user may make a change, or propose it. */
export const mayChange = (privileges: Privileges, name: keyof RestorePrivilegesFragment) =>
  privileges?.[name] === true || privileges?.canProposeChanges === true;

const atColumn = (column: string | undefined) =>
  column === undefined ? {} : { subResource: column, subResourceType: "DATASET_FIELD" as const };

/** Sends the opposite of a change; `undefined` if there is none, or the user may not. Texts are
 *  restored in a dialog instead, because users want to see the difference first. */
export function revertOf(
  urn: string,
  event: TimelineEvent,
  moment: Moment,
  privileges: Privileges,
  exists: (urn: string) => boolean,
): (() => Promise<unknown>) | undefined {
  const { modifier, column, parameters } = event;
  // An earlier domain can be assigned again; anything else is reverted by its latest change.
  if (event.kind === "DOMAIN" && event.isAdded && !event.isLatest)
    return modifier !== undefined && exists(modifier) && mayChange(privileges, "canEditDomains")
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
      if (!mayChange(privileges, name)) return undefined;
      const target = { resourceUrn: urn, ...atColumn(column) };
      const isRemoved = event.isAdded;
      return isTag
        ? () => run(SetTagDocument, { input: { ...target, tagUrn: modifier }, isRemoved })
        : () => run(SetTermDocument, { input: { ...target, termUrn: modifier }, isRemoved });
    }
    case "OWNER": {
      const ownershipType = parameters.get("ownerTypeUrn");
      if (modifier === undefined || !mayChange(privileges, "canEditOwners")) return undefined;
      if (event.isAdded)
        return () =>
          run(RemoveOwnerDocument, { urn, owner: modifier, ownershipType: ownershipType ?? null });
      if (ownershipType === undefined) return undefined;
      const ownerType = modifier.startsWith("urn:li:corpGroup:") ? "CORP_GROUP" : "CORP_USER";
      return () => run(AddOwnerDocument, { urn, owner: modifier, ownerType, ownershipType });
    }
    case "DOMAIN": {
      if (modifier === undefined || !mayChange(privileges, "canEditDomains")) return undefined;
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
      if (!mayChange(privileges, "canEditLinks")) return undefined;
      if (event.isAdded) return () => run(RemoveLinkDocument, { urn, url: modifier, label });
      return event.isRemoved
        ? () => run(AddLinkDocument, { urn, url: modifier, label })
        : undefined;
    }
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

/** Whether the user may restore the text of an event, which a later one replaced. */
export function mayRestoreText(event: TimelineEvent, privileges: Privileges): boolean {
  if (event.isLatest) return false;
  if (event.kind === "DESCRIPTION") return mayChange(privileges, "canEditDescription");
  return (
    event.kind === "COLUMN_DESCRIPTION" && mayChange(privileges, "canEditSchemaFieldDescription")
  );
}
