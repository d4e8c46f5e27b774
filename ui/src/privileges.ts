// What the user may change. The API answers for each kind of change, and whether the user may
// propose the others.

type Privileges<Name extends string> = {
  readonly [Key in Name | "canProposeChanges"]?: boolean | null;
};

/** Whether a change of the user is made, waits for somebody else to accept it, or is rejected. */
export type Right = "edit" | "propose" | "none";

export function rightTo<Name extends string>(
  privileges: Privileges<Name> | null | undefined,
  name: Name,
): Right {
  if (privileges?.[name] === true) return "edit";
  return privileges?.canProposeChanges === true ? "propose" : "none";
}

/** Whether to offer a change: the user may make it, or propose it. */
export function canChange<Name extends string>(
  privileges: Privileges<Name> | null | undefined,
  name: Name,
): boolean {
  return rightTo(privileges, name) !== "none";
}

/** The words for a change: those of proposals in place of the usual ones, if it becomes one. */
export const wordsFor = <Words extends object>(
  right: Right,
  usual: Words,
  proposing: Partial<Words>,
): Words => (right === "propose" ? { ...usual, ...proposing } : usual);
