//! Policies as stored (`dataHubPolicyInfo`), and whether one applies to a resource.
//!
//! The rules are DataHub's: an active policy grants its privileges to its actors on the resources
//! that meet all of its criteria. A policy without a resource filter covers everything, and there
//! are no policies that deny.

use std::collections::HashSet;

use docent_model::Urn;
use serde::Deserialize;
use serde_json::Value;

use super::resource::{Field, Resource};
use crate::privilege::EDIT_ENTITY;

/// A policy, as far as it decides anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(crate) urn: Urn,
    pub(crate) name: String,
    pub(crate) privileges: HashSet<String>,
    pub(crate) actors: Actors,
    /// All must match; empty covers every resource.
    pub(crate) criteria: Vec<Criterion>,
    /// What the change refers to (such as the tags that are added) must match these.
    pub(crate) constraints: Vec<Criterion>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Actors {
    #[serde(deserialize_with = "or_default")]
    pub(crate) users: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) groups: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) roles: Vec<String>,
    pub(crate) all_users: bool,
    pub(crate) all_groups: bool,
    pub(crate) resource_owners: bool,
    /// Owners of these types only; `None` means all types.
    pub(crate) resource_owners_types: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Criterion {
    /// `None` if we do not know the field: the criterion then matches nothing.
    pub(crate) field: Option<Field>,
    pub(crate) values: Vec<String>,
    pub(crate) condition: Condition,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Condition {
    #[default]
    Equals,
    StartsWith,
    NotEquals,
}

/// The members of `dataHubPolicyInfo` that we read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredPolicy {
    #[serde(default)]
    display_name: String,
    #[serde(rename = "type")]
    kind: String,
    state: String,
    privileges: Vec<String>,
    actors: Actors,
    resources: Option<StoredFilter>,
}

#[derive(Debug, Deserialize)]
struct StoredActors {
    actors: Actors,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct StoredFilter {
    #[serde(rename = "type")]
    entity_type: Option<String>,
    resources: Option<Vec<String>>,
    all_resources: bool,
    filter: Option<StoredCriteria>,
    privilege_constraints: Option<StoredCriteria>,
}

#[derive(Debug, Deserialize)]
struct StoredCriteria {
    criteria: Vec<StoredCriterion>,
}

#[derive(Debug, Deserialize)]
struct StoredCriterion {
    field: String,
    values: Vec<String>,
    #[serde(default)]
    condition: Condition,
}

impl Policy {
    /// Reads a stored policy; `None` if it is inactive, and an error if it cannot be read.
    pub(crate) fn parse(urn: Urn, text: &str) -> Result<Option<Self>, serde_json::Error> {
        let stored: StoredPolicy = serde_json::from_str(text)?;
        if stored.state != "ACTIVE" {
            return Ok(None);
        }
        let resources = stored
            .resources
            .filter(|_| stored.kind != PLATFORM)
            .unwrap_or_default();
        let constraints = resources.privilege_constraints.as_ref();
        Ok(Some(Self {
            urn,
            name: stored.display_name,
            privileges: stored.privileges.into_iter().collect(),
            actors: stored.actors,
            constraints: constraints.map(criteria_of).unwrap_or_default(),
            criteria: resources.into_criteria(),
        }))
    }

    /// The users whom a stored policy names; none if it cannot be read.
    pub(crate) fn users_in(text: &str) -> Vec<String> {
        let stored: Result<StoredActors, _> = serde_json::from_str(text);
        stored.map_or_else(|_| Vec::new(), |stored| stored.actors.users)
    }

    /// The domain of a policy whose actors may edit everything in one domain.
    pub(crate) fn steward_domain(&self) -> Option<&str> {
        let [criterion] = self.criteria.as_slice() else {
            return None;
        };
        let [domain] = criterion.values.as_slice() else {
            return None;
        };
        let is_of_stewards = criterion.field == Some(Field::Domain)
            && criterion.condition == Condition::Equals
            && self.constraints.is_empty()
            && self.privileges.contains(EDIT_ENTITY.name());
        is_of_stewards.then_some(domain.as_str())
    }

    /// Whether the resource meets the criteria. Without a resource only a policy for everything
    /// applies.
    pub(crate) fn covers(&self, resource: Option<&Resource>) -> bool {
        match resource {
            Some(resource) => all_match(&self.criteria, resource),
            None => self.criteria.is_empty(),
        }
    }

    /// Whether everything that the change refers to meets the constraints. `None` may be anything.
    pub(crate) fn admits(&self, references: Option<&[Resource]>) -> bool {
        match references {
            Some(references) => references
                .iter()
                .all(|reference| all_match(&self.constraints, reference)),
            None => self.constraints.is_empty(),
        }
    }
}

/// The type of policies that have no resources.
const PLATFORM: &str = "PLATFORM";

fn all_match(criteria: &[Criterion], resource: &Resource) -> bool {
    criteria.iter().all(|criterion| criterion.matches(resource))
}

/// Whether these resources of a stored policy are less than all.
pub(crate) fn has_criteria(resources: &Value) -> bool {
    let filter = StoredFilter::deserialize(resources);
    filter.is_ok_and(|filter| !filter.into_criteria().is_empty())
}

impl Criterion {
    fn matches(&self, resource: &Resource) -> bool {
        let Some(field) = self.field else {
            return false;
        };
        let found = resource.values(field);
        match self.condition {
            Condition::Equals => self.values.iter().any(|value| found.contains(value)),
            Condition::NotEquals => !self.values.iter().any(|value| found.contains(value)),
            Condition::StartsWith => self
                .values
                .iter()
                .any(|prefix| found.iter().any(|value| value.starts_with(prefix))),
        }
    }
}

impl StoredFilter {
    /// The criteria; older policies have a type and a list of URNs in their place.
    fn into_criteria(self) -> Vec<Criterion> {
        if let Some(filter) = &self.filter {
            return criteria_of(filter);
        }
        let equals = |field, values| Criterion {
            field: Some(field),
            values,
            condition: Condition::Equals,
        };
        let mut criteria = Vec::new();
        if let Some(entity_type) = self.entity_type {
            criteria.push(equals(Field::Type, vec![entity_type]));
        }
        if let Some(resources) = self.resources
            && !self.all_resources
        {
            criteria.push(equals(Field::Urn, resources));
        }
        criteria
    }
}

fn criteria_of(stored: &StoredCriteria) -> Vec<Criterion> {
    stored
        .criteria
        .iter()
        .map(|criterion| Criterion {
            field: Field::parse(&criterion.field),
            values: criterion.values.clone(),
            condition: criterion.condition,
        })
        .collect()
}

/// Reads null as the default value.
fn or_default<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
