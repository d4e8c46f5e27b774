//! The rights of one caller, compiled from the policies.
//!
//! Compilation picks the policies that can apply to the caller and indexes them by one criterion
//! each, so that a decision looks at the few policies of the resource's own domain, owner or tag,
//! and not at all of them.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use docent_search::Filter;

use super::policy::{Actors, Condition, Policy};
use super::resource::{Field, Fields, Resource};
use crate::privilege::Privilege;

/// Who the caller is to policies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) user: String,
    pub(crate) groups: HashSet<String>,
    /// The roles of the user and of the groups.
    pub(crate) roles: HashSet<String>,
}

/// What one caller may do.
#[derive(Debug)]
pub(crate) struct Rights {
    identity: Identity,
    policies: Arc<[Policy]>,
    /// Privileges on everything, each with the policy that grants it.
    everywhere: HashMap<String, usize>,
    /// Policies by a value that a resource must have.
    by_value: [HashMap<String, Vec<usize>>; Field::ALL.len()],
    /// Policies that no single value selects.
    others: Vec<usize>,
    /// The fields that the policies with a privilege compare.
    fields: HashMap<String, Fields>,
    /// What searches find, by the entity types that they leave out, which the scope of the token
    /// decides.
    search_filters: Mutex<HashMap<Vec<&'static str>, Arc<Filter>>>,
}

/// Whether the rights alone decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Preliminary {
    /// Allowed on every resource.
    Allowed,
    /// Denied on every resource.
    Denied,
    /// These fields of the resource decide.
    Depends(Fields),
}

impl Rights {
    pub(crate) fn compile(policies: &Arc<[Policy]>, identity: Identity) -> Self {
        let mut rights = Self {
            identity,
            policies: Arc::clone(policies),
            everywhere: HashMap::new(),
            by_value: Default::default(),
            others: Vec::new(),
            fields: HashMap::new(),
            search_filters: Mutex::default(),
        };
        for (index, policy) in policies.iter().enumerate() {
            rights.add(index, policy);
        }
        rights
    }

    fn add(&mut self, index: usize, policy: &Policy) {
        let is_actor = self.identity.is_among(&policy.actors);
        if !is_actor && !policy.actors.resource_owners {
            return;
        }
        if is_actor && policy.criteria.is_empty() && policy.constraints.is_empty() {
            for privilege in &policy.privileges {
                self.everywhere.entry(privilege.clone()).or_insert(index);
            }
            return;
        }
        let mut fields = Fields::default();
        if !is_actor {
            fields.add(Field::Owner);
        }
        for field in policy.criteria.iter().filter_map(|it| it.field) {
            fields.add(field);
        }
        for privilege in &policy.privileges {
            self.fields
                .entry(privilege.clone())
                .or_default()
                .extend(fields);
        }
        // By URN if possible, and by type only if nothing else selects: most resources share it.
        let selector = policy
            .criteria
            .iter()
            .filter(|criterion| criterion.condition == Condition::Equals)
            .filter_map(|criterion| Some((criterion.field?, &criterion.values)))
            .min_by_key(|(field, _)| match field {
                Field::Urn => 0,
                Field::Type => 2,
                _ => 1,
            });
        match selector {
            Some((field, values)) => {
                for value in values {
                    let by_value = &mut self.by_value[field as usize];
                    by_value.entry(value.clone()).or_default().push(index);
                }
            }
            None => self.others.push(index),
        }
    }

    /// Decides as far as possible without the resource: allowed if one of the privileges is.
    pub(crate) fn preliminary(&self, privileges: &[Privilege]) -> Preliminary {
        if self.everywhere(privileges).is_some() {
            return Preliminary::Allowed;
        }
        self.fields_of(privileges)
            .map_or(Preliminary::Denied, Preliminary::Depends)
    }

    /// The fields that decide about the privileges on a resource; `None` if nothing about a
    /// resource would grant one.
    pub(crate) fn fields_of(&self, privileges: &[Privilege]) -> Option<Fields> {
        let mut fields: Option<Fields> = None;
        for more in privileges
            .iter()
            .filter_map(|it| self.fields.get(it.name()))
        {
            fields.get_or_insert_default().extend(*more);
        }
        fields
    }

    /// The policy that allows one of the privileges on everything.
    pub(crate) fn everywhere(&self, privileges: &[Privilege]) -> Option<&Policy> {
        let mut granted = privileges.iter();
        let index = granted.find_map(|it| self.everywhere.get(it.name()))?;
        self.policies.get(*index)
    }

    /// The policy that allows one of the privileges on the resource, for a change that refers to
    /// `references`; `None` if that is not known.
    pub(crate) fn granted_by(
        &self,
        privileges: &[Privilege],
        resource: &Resource,
        references: Option<&[Resource]>,
    ) -> Option<&Policy> {
        if let Some(policy) = self.everywhere(privileges) {
            return Some(policy);
        }
        let grants = |index: &usize| {
            let policy = self.policies.get(*index)?;
            let applies = privileges
                .iter()
                .any(|privilege| policy.privileges.contains(privilege.name()))
                && policy.covers(Some(resource))
                && policy.admits(references)
                && (self.identity.is_among(&policy.actors)
                    || self.identity.owns(&policy.actors, resource));
            applies.then_some(policy)
        };
        for field in Field::ALL {
            for value in resource.values(field) {
                let indexed = self.by_value[field as usize].get(value);
                if let Some(policy) = indexed.into_iter().flatten().find_map(grants) {
                    return Some(policy);
                }
            }
        }
        self.others.iter().find_map(grants)
    }

    /// The policies that may grant one of the privileges on some resources, and whether each names
    /// the caller. The others are for owners.
    pub(crate) fn granting<'r>(
        &'r self,
        privileges: &'r [Privilege],
    ) -> impl Iterator<Item = (&'r Policy, bool)> {
        let may_grant = |policy: &&Policy| {
            let mut names = privileges.iter().map(|it| it.name());
            names.any(|name| policy.privileges.contains(name))
        };
        let policies = self.policies.iter().filter(may_grant);
        policies
            .map(|policy| (policy, self.identity.is_among(&policy.actors)))
            .filter(|(policy, is_actor)| *is_actor || policy.actors.resource_owners)
    }

    /// What searches find that leave out these types. It follows from the policies alone, so it is
    /// built once.
    pub(crate) fn search_filter(
        &self,
        excluded_types: &[&'static str],
        build: impl FnOnce() -> Filter,
    ) -> Arc<Filter> {
        let mut filters = self
            .search_filters
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let filter = filters.entry(excluded_types.to_vec());
        Arc::clone(filter.or_insert_with(|| Arc::new(build())))
    }

    pub(crate) fn user(&self) -> &str {
        &self.identity.user
    }

    /// The user and the groups of the caller, who may be owners.
    pub(crate) fn possible_owners(&self) -> impl Iterator<Item = &str> {
        let groups = self.identity.groups.iter().map(String::as_str);
        std::iter::once(self.identity.user.as_str()).chain(groups)
    }
}

impl Identity {
    /// Whether a policy names the caller, a group or a role of the caller.
    pub(crate) fn is_among(&self, actors: &Actors) -> bool {
        actors.all_users
            || (actors.all_groups && !self.groups.is_empty())
            || actors.users.contains(&self.user)
            || actors
                .groups
                .iter()
                .any(|group| self.groups.contains(group))
            || actors.roles.iter().any(|role| self.roles.contains(role))
    }

    /// Whether a policy is for owners, and the caller or a group of the caller is one.
    fn owns(&self, actors: &Actors, resource: &Resource) -> bool {
        let has_type = |owner_type: Option<&String>| match &actors.resource_owners_types {
            None => true,
            Some(types) => owner_type.is_some_and(|owner_type| types.contains(owner_type)),
        };
        actors.resource_owners
            && resource.owners.iter().any(|owner| {
                (owner.urn == self.user || self.groups.contains(&owner.urn))
                    && has_type(owner.type_urn.as_ref())
            })
    }
}
