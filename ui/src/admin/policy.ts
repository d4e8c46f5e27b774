// A policy as the page shows and edits it, and the input that stores it again.

import type {
  PoliciesQuery,
  PolicyMatchCondition,
  PolicyState,
  PolicyType,
  PolicyUpdateInput,
} from "../generated/operations.ts";
import { nameOf, urnId, type Nameable } from "../names.ts";

export type StoredPolicy = NonNullable<PoliciesQuery["listPolicies"]>["policies"][number];

/** Something that a policy names, with the name to show. */
export interface Named {
  readonly urn: string;
  readonly name: string;
}

export interface Condition {
  readonly field: string;
  readonly condition: PolicyMatchCondition;
  readonly values: readonly Named[];
}

export interface Policy {
  readonly name: string;
  readonly type: PolicyType;
  readonly state: PolicyState;
  readonly description: string;
  readonly privileges: readonly string[];
  readonly users: readonly Named[];
  readonly groups: readonly Named[];
  readonly roles: readonly Named[];
  readonly allUsers: boolean;
  readonly allGroups: boolean;
  readonly owners: boolean;
  readonly ownerTypes: readonly Named[];
  /** What an asset must meet; `null` for all assets. */
  readonly conditions: readonly Condition[] | null;
  /** Which tags and terms may be added; `null` for all. */
  readonly constraints: readonly Condition[] | null;
}

export const EMPTY_POLICY: Policy = {
  name: "",
  type: "METADATA",
  state: "ACTIVE",
  description: "",
  privileges: [],
  users: [],
  groups: [],
  roles: [],
  allUsers: false,
  allGroups: false,
  owners: false,
  ownerTypes: [],
  conditions: null,
  constraints: null,
};

/** DataHub's older names of fields, which stored policies may have. */
const FIELDS: Readonly<Record<string, string>> = { RESOURCE_TYPE: "TYPE", RESOURCE_URN: "URN" };

type StoredFilter = NonNullable<NonNullable<StoredPolicy["resources"]>["filter"]>;

/** The conditions of a filter; `null` without any, which is everything. */
function conditionsOf(filter: StoredFilter | null | undefined): readonly Condition[] | null {
  if ((filter?.criteria?.length ?? 0) === 0) return null;
  return (filter?.criteria ?? []).map(({ field, condition, values }) => ({
    field: FIELDS[field] ?? field,
    condition,
    values: values.map(({ value, entity }) => ({
      urn: value,
      name: entity === null || entity === undefined ? shortOf(value) : nameOf(entity as Nameable),
    })),
  }));
}

/** A value without a name: the id of a URN, or the value itself. */
export const shortOf = (value: string) => (value.startsWith("urn:") ? urnId(value) : value);

/** What a policy covers, as the server decides it. The older forms, a type and a list, are conditions
 *  too, and have no effect beside a filter. An empty filter covers everything, and an empty list
 *  nothing. */
function coveredBy(resources: StoredPolicy["resources"]): readonly Condition[] | null {
  if (resources === null || resources === undefined) return null;
  const { filter, type, resources: listed, allResources } = resources;
  if (filter !== null && filter !== undefined) return conditionsOf(filter);
  const equal = (field: string, values: readonly string[]): Condition => ({
    field,
    condition: "EQUALS",
    values: values.map((urn) => ({ urn, name: shortOf(urn) })),
  });
  const isTyped = type !== null && type !== undefined;
  const isListed = listed !== null && listed !== undefined && allResources !== true;
  const older = [
    ...(isTyped ? [equal("TYPE", [type])] : []),
    ...(isListed ? [equal("URN", listed)] : []),
  ];
  return older.length === 0 ? null : older;
}

/** The names of URNs, from the entities that the API could resolve. */
function named(
  urns: readonly string[] | null | undefined,
  resolved: readonly (Nameable & { readonly urn: string })[] | null | undefined,
): readonly Named[] {
  return (urns ?? []).map((urn) => {
    const entity = resolved?.find((it) => it.urn === urn);
    return { urn, name: entity === undefined ? urnId(urn) : nameOf(entity) };
  });
}

export function policyOf(stored: StoredPolicy): Policy {
  const { actors } = stored;
  const types = actors.resolvedOwnershipTypes?.map(({ urn, info }) => ({
    urn,
    name: info?.name ?? urnId(urn),
  }));
  return {
    name: stored.name,
    type: stored.type,
    state: stored.state,
    description: stored.description ?? "",
    privileges: stored.privileges,
    users: named(actors.users, actors.resolvedUsers),
    groups: named(actors.groups, actors.resolvedGroups),
    roles: named(actors.roles, actors.resolvedRoles),
    allUsers: actors.allUsers,
    allGroups: actors.allGroups,
    owners: actors.resourceOwners,
    ownerTypes: named(actors.resourceOwnersTypes, types),
    conditions: coveredBy(stored.resources),
    constraints: conditionsOf(stored.resources?.privilegeConstraints),
  };
}

const urnsOf = (list: readonly Named[]) => list.map(({ urn }) => urn);

const criteriaOf = (conditions: readonly Condition[]) => ({
  criteria: conditions.map(({ field, condition, values }) => ({
    field,
    condition,
    values: urnsOf(values),
  })),
});

/** What `createPolicy` and `updatePolicy` take. */
export function inputOf(policy: Policy): PolicyUpdateInput {
  const isPlatform = policy.type === "PLATFORM";
  return {
    type: policy.type,
    name: policy.name,
    state: policy.state,
    description: policy.description,
    privileges: [...policy.privileges],
    actors: {
      users: urnsOf(policy.users),
      groups: urnsOf(policy.groups),
      roles: urnsOf(policy.roles),
      resourceOwners: !isPlatform && policy.owners,
      resourceOwnersTypes:
        !isPlatform && policy.owners && policy.ownerTypes.length > 0
          ? urnsOf(policy.ownerTypes)
          : null,
      allUsers: policy.allUsers,
      allGroups: policy.allGroups,
    },
    ...(isPlatform
      ? {}
      : {
          resources: {
            filter: criteriaOf(policy.conditions ?? []),
            ...(policy.constraints === null
              ? {}
              : { privilegeConstraints: criteriaOf(policy.constraints) }),
          },
        }),
  };
}

/** What decides whether a policy is about the current user. */
export interface Membership {
  readonly user: string;
  readonly groups: readonly string[];
  readonly roles: readonly string[];
}

const MANAGE_POLICIES = "MANAGE_POLICIES";

/** Whether an active policy lets somebody manage policies. */
const letsManagePolicies = (policy: Policy) =>
  policy.state === "ACTIVE" && policy.privileges.includes(MANAGE_POLICIES);

/** Whether a policy names the user, a group or a role of the user. */
function isAbout(policy: Policy, { user, groups, roles }: Membership): boolean {
  const has = (list: readonly Named[], urns: readonly string[]) =>
    list.some(({ urn }) => urns.includes(urn));
  return (
    policy.allUsers ||
    (policy.allGroups && groups.length > 0) ||
    has(policy.users, [user]) ||
    has(policy.groups, groups) ||
    has(policy.roles, roles)
  );
}

export const ROOT_USER = "urn:li:corpuser:datahub";

/** Whether somebody besides the root user may be among the actors of a policy. */
const isForOthers = (policy: Policy) =>
  policy.allUsers ||
  policy.allGroups ||
  policy.groups.length > 0 ||
  policy.roles.length > 0 ||
  policy.users.some(({ urn }) => urn !== ROOT_USER);

export type Risk = "losesOwn" | "losesLast";

/** What a change of policies takes away from administrators, if anything. */
export function riskOf(
  before: readonly Policy[],
  after: readonly Policy[],
  me: Membership,
): Risk | null {
  const mine = (policies: readonly Policy[]) =>
    policies.some((policy) => letsManagePolicies(policy) && isAbout(policy, me));
  if (mine(before) && !mine(after)) return "losesOwn";
  const others = (policies: readonly Policy[]) =>
    policies.some((policy) => letsManagePolicies(policy) && isForOthers(policy));
  return others(before) && !others(after) ? "losesLast" : null;
}
