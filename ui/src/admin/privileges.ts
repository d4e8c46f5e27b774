// The privileges in words and in groups. The API says which ones policies can grant.

import { metadataPrivileges, operatorPrivileges, platformPrivileges } from "../privilege_texts.ts";
import type { PolicyType } from "../generated/operations.ts";
import { capitalized } from "../text_forms.ts";

export interface Grantable {
  readonly type: string;
  readonly displayName?: string | null;
}

export interface PrivilegeChoice {
  readonly name: string;
  readonly label: string;
}

export interface ChoiceGroup {
  readonly title: string;
  readonly choices: readonly PrivilegeChoice[];
}

const groupsOf = (type: PolicyType) => [
  ...(type === "METADATA" ? metadataPrivileges : platformPrivileges),
  operatorPrivileges,
];

/** The verb and the object of a privilege. One that has no words here keeps its name. */
export function wordsOf(name: string, type: PolicyType): readonly [verb: string, object: string] {
  for (const group of groupsOf(type)) {
    const words = group.privileges[name];
    if (words !== undefined) return [words[0], words[1]];
  }
  return ["use", name];
}

/** What policies of a kind can grant, in groups. What this page has no words for comes last, under
 *  the name that the API gives it. */
export function choicesOf(
  grantable: readonly Grantable[],
  type: PolicyType,
  others: string,
): readonly ChoiceGroup[] {
  const left = new Map(grantable.map((privilege) => [privilege.type, privilege]));
  const groups = groupsOf(type).map(({ title, privileges }) => ({
    title,
    choices: Object.entries(privileges)
      .filter(([name]) => left.delete(name))
      .map(([name, [verb, object, label]]) => ({
        name,
        label: label ?? capitalized(`${verb} ${object}`),
      })),
  }));
  const unnamed = [...left.values()].map(({ type: name, displayName }) => ({
    name,
    label: displayName ?? name,
  }));
  return [...groups, { title: others, choices: unnamed }].filter(
    ({ choices }) => choices.length > 0,
  );
}
