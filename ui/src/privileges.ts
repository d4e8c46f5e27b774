// What the user may change. The API answers for each kind of change, and whether the user may
// propose the others.

import type { DatasetQuery } from "./generated/operations.ts";

type Privileges = NonNullable<NonNullable<DatasetQuery["dataset"]>["privileges"]>;

/** Whether to offer a change: the user may make it, or propose it. */
export function canChange<Name extends keyof Privileges>(
  privileges: Pick<Privileges, Name | "canProposeChanges"> | null | undefined,
  name: Name,
): boolean {
  return privileges?.[name] === true || privileges?.canProposeChanges === true;
}
