//! Decisions compared with an interpreter that is slow and obviously right.

use std::collections::HashSet;
use std::sync::Arc;

use docent_model::Urn;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::policy::Policy;
use super::resource::{Field, Resource};
use super::rights::{Identity, Preliminary, Rights};
use crate::privilege::{self, Privilege};

const PRIVILEGES: [Privilege; 3] = [
    privilege::EDIT_ENTITY,
    privilege::EDIT_ENTITY_DOCS,
    privilege::MANAGE_DOMAINS,
];

/// Reads a stored policy anew for each decision, in the words of its definition.
fn interpret(
    policy: &Value,
    identity: &Identity,
    privileges: &[Privilege],
    resource: Option<&Resource>,
) -> bool {
    let list = |value: &Value| -> Vec<String> {
        let items = value.as_array().cloned().unwrap_or_default();
        items
            .iter()
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect()
    };
    if policy["state"] != "ACTIVE" {
        return false;
    }
    let granted = list(&policy["privileges"]);
    if !privileges
        .iter()
        .any(|needed| granted.iter().any(|name| name == needed.name()))
    {
        return false;
    }
    let actors = &policy["actors"];
    let owner_types = actors["resourceOwnersTypes"].as_array();
    let is_owner = |resource: &Resource| {
        resource.owners.iter().any(|owner| {
            let is_caller = owner.urn == identity.user || identity.groups.contains(&owner.urn);
            let has_type = owner_types.is_none_or(|types| {
                types
                    .iter()
                    .any(|ty| ty.as_str() == owner.type_urn.as_deref())
            });
            is_caller && has_type
        })
    };
    let is_actor = actors["allUsers"] == true
        || (actors["allGroups"] == true && !identity.groups.is_empty())
        || list(&actors["users"]).contains(&identity.user)
        || list(&actors["groups"])
            .iter()
            .any(|group| identity.groups.contains(group))
        || list(&actors["roles"])
            .iter()
            .any(|role| identity.roles.contains(role))
        || (actors["resourceOwners"] == true && resource.is_some_and(is_owner));
    if !is_actor {
        return false;
    }
    let filter = &policy["resources"]["filter"]["criteria"];
    let Some(criteria) = filter.as_array().filter(|_| policy["type"] == "METADATA") else {
        return true;
    };
    criteria.iter().all(|criterion| {
        let (Some(field), Some(resource)) =
            (Field::parse(criterion["field"].as_str().unwrap()), resource)
        else {
            return false;
        };
        let found = resource.values(field);
        let values = list(&criterion["values"]);
        match criterion["condition"].as_str().unwrap() {
            "EQUALS" => values.iter().any(|value| found.contains(value)),
            "NOT_EQUALS" => values.iter().all(|value| !found.contains(value)),
            _ => values
                .iter()
                .any(|prefix| found.iter().any(|value| value.starts_with(prefix.as_str()))),
        }
    })
}

fn few(names: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(prop::sample::select(names), 0..3)
        .prop_map(|names| names.into_iter().map(str::to_owned).collect())
}

const USERS: &[&str] = &["urn:li:corpuser:ada", "urn:li:corpuser:bob"];
const GROUPS: &[&str] = &["urn:li:corpGroup:g", "urn:li:corpGroup:h"];
const ROLES: &[&str] = &["urn:li:dataHubRole:Admin", "urn:li:dataHubRole:Reader"];
const TYPES: &[&str] = &["urn:li:ownershipType:a", "urn:li:ownershipType:b"];
const VALUES: &[&str] = &[
    "urn:li:domain:x",
    "urn:li:domain:xy",
    "dataset",
    "urn:li:tag:t",
];
const FIELDS: &[&str] = &[
    "TYPE",
    "RESOURCE_URN",
    "owner",
    "DOMAIN",
    "TAG",
    "CONTAINER",
    "GLOSSARY",
    "NONSENSE",
];

fn any_criterion() -> impl Strategy<Value = Value> {
    let condition = prop::sample::select(&["EQUALS", "NOT_EQUALS", "STARTS_WITH"][..]);
    (prop::sample::select(FIELDS), few(VALUES), condition).prop_map(
        |(field, values, condition)| json!({"field": field, "values": values, "condition": condition}),
    )
}

fn any_policy() -> impl Strategy<Value = Value> {
    let privileges = prop::collection::vec(prop::sample::select(&PRIVILEGES[..]), 1..3);
    let actors = (
        few(USERS),
        few(GROUPS),
        few(ROLES),
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.1),
        any::<bool>(),
        prop::option::of(few(TYPES)),
    )
        .prop_map(
            |(users, groups, roles, all_users, all_groups, owners, types)| {
                let mut actors = json!({
                    "users": users, "groups": groups, "roles": roles, "allUsers": all_users,
                    "allGroups": all_groups, "resourceOwners": owners,
                });
                if let Some(types) = types {
                    actors["resourceOwnersTypes"] = json!(types);
                }
                actors
            },
        );
    let filter = prop::option::of(prop::collection::vec(any_criterion(), 0..3));
    (
        privileges,
        actors,
        filter,
        prop::bool::weighted(0.9),
        any::<bool>(),
    )
        .prop_map(|(privileges, actors, filter, active, metadata)| {
            let names: Vec<&str> = privileges.iter().map(|it| it.name()).collect();
            let mut policy = json!({
                "displayName": "p", "description": "", "privileges": names, "actors": actors,
                "type": if metadata { "METADATA" } else { "PLATFORM" },
                "state": if active { "ACTIVE" } else { "INACTIVE" },
            });
            if let Some(criteria) = filter {
                policy["resources"] = json!({"filter": {"criteria": criteria}});
            }
            policy
        })
}

fn any_resource() -> impl Strategy<Value = Resource> {
    let fields = [Field::Domain, Field::Tag, Field::Container, Field::Glossary];
    let values = prop::collection::vec((prop::sample::select(fields.to_vec()), few(VALUES)), 0..4);
    let owner = (
        prop::sample::select([USERS, GROUPS].concat()),
        prop::option::of(prop::sample::select(TYPES)),
    );
    (values, prop::collection::vec(owner, 0..3)).prop_map(|(values, owners)| {
        let urn = Urn::parse("urn:li:dataset:(urn:li:dataPlatform:hive,t,PROD)").unwrap();
        let mut resource = Resource::new(&urn);
        for (field, values) in values {
            for value in values {
                resource.push(field, &value);
            }
        }
        for (owner, kind) in owners {
            resource.push_owner(owner, kind);
        }
        resource
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn decisions_equal_those_of_the_interpreter(
        stored in prop::collection::vec(any_policy(), 0..6),
        user in prop::sample::select(USERS),
        groups in few(GROUPS),
        roles in few(ROLES),
        privileges in prop::collection::vec(prop::sample::select(&PRIVILEGES[..]), 1..3),
        resource in any_resource(),
    ) {
        let identity = Identity {
            user: user.to_owned(),
            groups: groups.into_iter().collect::<HashSet<_>>(),
            roles: roles.into_iter().collect::<HashSet<_>>(),
        };
        let urn = Urn::new("dataHubPolicy", "p").unwrap();
        let policies: Arc<[Policy]> = stored
            .iter()
            .filter_map(|policy| Policy::parse(urn.clone(), &policy.to_string()).unwrap())
            .collect();
        let rights = Rights::compile(&policies, identity.clone());
        let on = |resource: Option<&Resource>| {
            stored
                .iter()
                .any(|policy| interpret(policy, &identity, &privileges, resource))
        };
        let granted = rights.granted_by(&privileges, &resource, None).is_some();
        prop_assert_eq!(granted, on(Some(&resource)));
        match rights.preliminary(&privileges) {
            Preliminary::Allowed => prop_assert!(on(None) && granted),
            Preliminary::Denied => prop_assert!(!granted),
            Preliminary::Depends(_) => prop_assert!(!on(None)),
        }
    }
}
