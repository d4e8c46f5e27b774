// What the user may change. The API answers for each kind of change, and whether the user may
// propose the others.

type Privileges<Name extends string> = {
  readonly [Key in Name | "canProposeChanges"]?: boolean | null;
};

/** Whether to offer a change: the user may make it, or propose it. */
export function canChange<Name extends string>(
  privileges: Privileges<Name> | null | undefined,
  name: Name,
): boolean {
  return privileges?.[name] === true || privileges?.canProposeChanges === true;
}
